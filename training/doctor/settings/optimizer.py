"""Whether an optimizer suits what it trains, and its settings besides the rate are usual ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import JsonValue

from training.config import RunConfig
from training.config.sections.optimizer import AdamW
from training.diagnosis.rates import fitting_rate
from training.events import Finding, FindingLevel
from training.findings.settings import (
    ADAPTIVE_NEEDED,
    FORGETS,
    HIGH_MOMENTUM,
    LARGE_EPS,
    LEAST_LAYER_DECAY,
    LOW_BETA,
    MOST_LR_DECAY,
    OPTIMIZER,
    QUICK_SQUARES,
    UNSUITABLE,
    VERY_LARGE_EPS,
)

_EPS = ("eps", "adamw_eps")
_Said = tuple[FindingLevel, str, Any, str]
_BETAS = ("betas", "adamw_betas")


def optimizer_findings(config: RunConfig, total: int) -> list[Finding]:
    """Momentum, betas and epsilon, and what makes rates smaller as steps go by (``total`` of them) or from layer to layer."""
    optimizer = config.optimizer
    usual = type(optimizer)()
    return [
        _tell(level, f"optimizer.{name}", what, {name: shown}, getattr(usual, name))
        for level, name, shown, what in (
            *_momentum(optimizer),
            *_epsilon(optimizer),
            *_decays(optimizer),
            *_shrinks(optimizer, total),
        )
    ]


def suitability_findings(config: RunConfig, peak: float, known: bool, total: int) -> list[Finding]:
    """SGD with a rate up to ``peak``, on what needs steps of a size of its own for each weight; ``known``: begun with known weights."""
    optimizer = config.optimizer
    if known or optimizer.kind != "sgd" or config.objective.kind != "language_model":
        return []
    reach = peak / (1.0 - optimizer.momentum)
    if reach >= ADAPTIVE_NEEDED:
        return []
    title = (
        f"SGD with a rate of {peak:g} hardly trains a language model: most tokens are rare, and their gradients small."
    )
    rate = fitting_rate(config.model_copy(update={"optimizer": AdamW()}), total)
    fix: dict[str, JsonValue] = {"optimizer.kind": "adamw", "optimizer.lr": rate}
    if getattr(config.schedule, "max_lr", None) is not None:
        fix["schedule.max_lr"] = None
    evidence = {"peak": peak, "over_1_minus_momentum": reach}
    return [
        UNSUITABLE.find("warning", title, "AdamW makes steps of the same size for each.", evidence=evidence, fix=fix)
    ]


def _tell(level: FindingLevel, place: str, what: str, evidence: dict[str, Any], usual: Any) -> Finding:
    value = list(usual) if isinstance(usual, tuple) else usual
    fix = {place: value} if level == "warning" else {}
    return OPTIMIZER.find(level, f"{place} {what}", f"{usual} is usual.", place=place, evidence=evidence, fix=fix)


def _momentum(optimizer: Any) -> Iterator[_Said]:
    momentum = getattr(optimizer, "momentum", 0.0)
    if momentum > HIGH_MOMENTUM:
        steps = 1.0 / (1.0 - momentum)
        yield (
            "warning",
            "momentum",
            momentum,
            f"is {momentum:g}: a step is the mean of the last {steps:,.0f}, and swings.",
        )


def _epsilon(optimizer: Any) -> Iterator[_Said]:
    for name in _EPS:
        eps = getattr(optimizer, name, None)
        if eps is None or eps < LARGE_EPS or optimizer.kind == "adafactor":
            continue
        level: FindingLevel = "warning" if eps >= VERY_LARGE_EPS else "info"
        yield (
            level,
            name,
            eps,
            f"is {eps:g}, more than most gradients: their size is no longer evened out, and steps become tiny.",
        )


def _shrinks(optimizer: Any, total: int) -> Iterator[_Said]:
    decay = getattr(optimizer, "lr_decay", 0.0)  # Adagrad's: the rate is divided by 1 + decay * steps
    if decay * total > MOST_LR_DECAY:
        what = f"is {decay:g}: at the end of {total:,} steps the rate is {1 / (1 + decay * total):.1%} of what it was."
        yield "warning", "lr_decay", decay, what
    layers = optimizer.layer_decay
    if layers < LEAST_LAYER_DECAY:
        yield (
            "warning",
            "layer_decay",
            layers,
            f"is {layers:g}: each layer learns {1 / layers:,.0f} times slower than the next.",
        )


def _decays(optimizer: Any) -> Iterator[_Said]:
    for name in _BETAS:
        betas = getattr(optimizer, name, None)
        if betas is None:
            continue
        first, second = betas
        if first > HIGH_MOMENTUM:
            yield (
                "warning",
                name,
                list(betas),
                f"begin with {first:g}: a step is the mean of the last {1 / (1 - first):,.0f}, and swings.",
            )
        elif second < QUICK_SQUARES:
            what = f"end with {second:g}: the size of gradients is taken from the last {1 / (1 - second):.0f} steps, and is mostly noise."
            yield "warning", name, list(betas), what
        elif first < LOW_BETA:
            yield "info", name, list(betas), f"begin with {first:g}: steps follow the noise of single batches."
    alpha = getattr(optimizer, "alpha", None)
    if alpha is not None and alpha < FORGETS:
        yield (
            "warning",
            "alpha",
            alpha,
            f"is {alpha:g}: the size of gradients is taken from the last {1 / (1 - alpha):.0f} steps, and is mostly noise.",
        )
