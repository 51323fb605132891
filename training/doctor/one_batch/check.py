"""*Fit one batch*: some samples, learned by heart; and where that fails, which one change lets it succeed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median

import numpy as np
import torch

from training.config import RunConfig, parse_config
from training.config.files import config_data
from training.data.prepared import PreparedData
from training.doctor.one_batch.fit import Change, Fit, Learner, Report, choose_batch
from training.doctor.one_batch.suspects import list_changes
from training.engine.assemble import assemble
from training.engine.session import Session
from training.errors import format_duration, join_choices, pluralize
from training.events import Finding, FindingLevel
from training.findings import without_muted
from training.findings.one_batch import ALIKE, COMPARED, FIT, IGNORES, MOST_STEPS, SURELY
from training.own_code.user_rng import preserve_rng
from training.protocol.answers import OneBatchFit, Suspect
from training.statistics.mann_whitney import chance_of_lower

_SHARE = 0.4
"""Of the time, that the first fit may take; as much goes to the one without inputs at the most."""
_FALLING = 0.8
"""A loss that fell below so much of what it was when two thirds of the steps were done is still on its way."""


@dataclass(frozen=True)
class _Found:
    """What the fits showed. ``blind``: of the network that was given zeros."""

    fit: Fit
    blind: Fit | None
    suspects: tuple[Suspect, ...]


def fit_one_batch(
    config: RunConfig,
    report: Report = lambda text, fraction: None,
    seconds: float = 20.0,
    kept: PreparedData | None = None,
) -> OneBatchFit:
    """Train the network of ``config`` on some training samples, as the run would but without augmentation, dropout and weight decay; in
    ``seconds`` of fitting at most. Nothing is written. ``report`` may raise to end it. Raises InputError and ConfigError where the run
    could not begin."""
    with preserve_rng():
        session = assemble(_without_dropout(config), report, kept=kept)
        try:
            return judge_fit(session, report, seconds)
        finally:
            session.data.close()


def _without_dropout(config: RunConfig) -> RunConfig:
    data = config_data(config)
    model = data.get("model")
    if isinstance(model, dict) and "dropout" in model:
        model["dropout"] = 0.0
    return parse_config(data, paths=False)


def judge_fit(session: Session, report: Report, seconds: float) -> OneBatchFit:
    """The same with a session, which is spent afterwards."""
    began = time.monotonic()
    batch = choose_batch(session)
    learner = Learner(session, batch)
    found = _fit(learner, began, seconds, report)
    samples, fit = len(batch.indices), found.fit
    told = [_tell(learner, samples, found, seconds), *_tell_ignored(found)]
    muted = without_muted(told, session.config.muted_findings)
    return OneBatchFit(
        samples=samples,
        fitted=fit.fitted,
        steps=len(fit.losses),
        losses=fit.losses,
        blind_losses=found.blind.losses if found.blind else (),
        error=None if fit.error != fit.error else fit.error,
        measure=learner.what,
        seconds=time.monotonic() - began,
        suspects=found.suspects,
        findings=tuple(muted),
    )


def _fit(learner: Learner, began: float, seconds: float, report: Report) -> _Found:
    deadline = began + seconds

    def tell(words: str) -> None:
        report(words, min((time.monotonic() - began) / max(seconds, 1e-3), 1.0))

    def fit(change: Change, until: float, words: str, most: int = MOST_STEPS) -> Fit:
        tell(words)
        return learner.fit(change, until, lambda step: tell(f"{words}: step {step} of {most}"), most)

    first = fit(Change(), began + _SHARE * seconds, "learning some samples by heart")
    blind = None
    if first.losses:
        change = Change(inputs=torch.zeros_like)
        blind = fit(change, began + 2 * _SHARE * seconds, "the same without inputs", len(first.losses))
    if first.fitted is not False:
        return _Found(first, blind, ())
    suspects = []
    for change in list_changes(learner.session):
        if time.monotonic() > deadline:
            suspects.append(Suspect(code=change.code, tried=change.tried))
            continue
        other = fit(change, deadline, f"trying {change.tried}")
        suspects.append(
            Suspect(
                code=change.code,
                tried=change.tried,
                cured=other.fitted,
                loss=other.losses[-1] if other.losses else None,
                fix=dict(change.fix),
            )
        )
    return _Found(first, blind, tuple(sorted(suspects, key=lambda suspect: suspect.cured is not True)))


def _tell(learner: Learner, samples: int, found: _Found, seconds: float) -> Finding:
    fit = found.fit
    steps = len(fit.losses)
    if not fit.losses:
        title = f"Not a single step was done in {format_duration(seconds)}, so nothing is known."
        return FIT.find("info", title, "Allow more time, or choose a smaller network.")
    course = f"loss {fit.losses[0]:.3g} to {fit.losses[-1]:.3g} in {pluralize(steps, 'step')}"
    evidence = {"samples": samples, "steps": steps, "first_loss": fit.losses[0], "last_loss": fit.losses[-1]}
    if fit.error == fit.error:
        evidence["error"] = fit.error
    what = pluralize(samples, "sample")
    if fit.fitted:
        return FIT.ok(f"The network learns {what} by heart: {course}.")
    left = f"{fit.error:.0%} of {learner.what} answered wrongly" if fit.error == fit.error else ""
    rest = f", {left}" if left else ""
    if fit.fitted is None:
        title = f"After {steps} of {MOST_STEPS} steps time was up: {course}{rest}; that shows nothing yet."
        return FIT.find("info", title, "Allow more time, or choose a smaller network.", evidence=evidence)
    title = f"The network does not learn {what} by heart: {course}{rest}."
    cures = [suspect for suspect in found.suspects if suspect.cured]
    falling = fit.losses[-1] < _FALLING * fit.losses[2 * steps // 3]
    if cures:
        first = cures[0]
        advice = f"With {first.tried} it does; nothing else was changed."
        if len(cures) > 1:
            advice += f" So it does with {join_choices([cure.tried for cure in cures[1:]])}."
    else:
        tried = [suspect.tried for suspect in found.suspects if suspect.cured is False]
        advice = f"None of this helped: {join_choices(tried)}." if tried else ""
        advice += " Look at the network itself: Check says what it finds there."
    level: FindingLevel = "info" if falling else "warning"
    if falling:
        advice = f"The loss still falls: more steps would do. {advice}" if not cures else advice
    return FIT.find(level, title, advice.strip(), evidence=evidence, fix=cures[0].fix if cures else {})


def _tell_ignored(found: _Found) -> list[Finding]:
    fit, blind = found.fit, found.blind
    if fit.fitted is not False or blind is None or len(blind.losses) < len(fit.losses):
        return []
    seen, unseen = (np.array(each.losses[-COMPARED:], np.float64) for each in (fit, blind))
    chance = chance_of_lower(seen, unseen)
    if chance <= SURELY or not fit.spread < ALIKE:  # a network that diverged has no lower loss, either
        return []
    title = (
        "Without its inputs the network does as well: given zeros in their place, the loss of the last "
        f"{len(seen)} steps is {median(unseen.tolist()):.3g}, with them {median(seen.tolist()):.3g}."
    )
    advice = "What it answers does not depend on what it sees: look for a layer that lets nothing through, or for inputs that are all alike."
    return [IGNORES.find("warning", title, advice, evidence={"p": chance, "spread": fit.spread})]
