"""What dead and saturated units tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from training.diagnosis.layer_view import UnitView, find_progress, view_units
from training.diagnosis.rates import judge_rate, tame_rate
from training.diagnosis.recorded import Recorded
from training.events import Finding, FindingLevel
from training.findings.layers import DEAD, DIED, HALTING_PROGRESS, LITTLE_PROGRESS, MOST_DEAD, SATURATED
from training.findings.rule import Rule

_Why: TypeAlias = tuple[str, Mapping[str, JsonValue]]
"""The cause in a sentence, and the settings that mend it."""

_UNCLEAR = "They came to it while training, though the learning rate is a usual one: where nothing can be learned, units die as well."
_HARMLESS = "They do no harm while the run learns as it should."


def judge_dead(run: Recorded) -> Iterator[Finding]:
    """Units that no sample wakes."""
    if (view := view_units(run)) is not None:
        yield from _judge(run, view, view.dead, DEAD, _explain_dead)


def judge_saturated(run: Recorded) -> Iterator[Finding]:
    """Units of tanh or sigmoid that sit at an end."""
    if (view := view_units(run)) is not None:
        yield from _judge(run, view, view.saturated, SATURATED, _explain_saturated)


def _judge(
    run: Recorded, view: UnitView, shares: NDArray[np.float32], rule: Rule, explain: Callable[[Recorded, int], _Why]
) -> Iterator[Finding]:
    """Of ``shares`` (rows, layers). ``explain`` is given the step since which a layer is above the threshold, 0 for the first row."""
    if (worst := _find_first(shares)) is None:
        return
    layer, share, start = worst
    early = bool(shares[0, layer] > MOST_DEAD)
    since = int(view.steps[start])
    level = _level(run, shares[:, layer])
    why, fix = explain(run, 0 if early else since) if level == "warning" else (_HARMLESS, {})
    if level == "warning" and not early and judge_rate(run) != "high":
        level, why, fix = "info", _UNCLEAR, {}
    yield rule.find(
        level,
        f"{share:.0%} of the units of layer {view.layers[layer]} are {'dead' if rule is DEAD else 'saturated'}.",
        why,
        place=view.layers[layer],
        evidence=_evidence(view, shares, layer),
        fix=fix,
        since=since,
    )


def _explain_dead(run: Recorded, since: int) -> _Why:
    if since:
        return "They died while training: the learning rate is too high.", tame_rate(run, since)
    why = "They were dead in the first steps already: the weights begin with biases far below 0, or inputs are not scaled."
    return why, {"model.activation": "gelu"} if hasattr(run.config.model, "activation") else {}


def _explain_saturated(run: Recorded, since: int) -> _Why:
    if since:
        return "They came to it while training: the learning rate is too high.", tame_rate(run, since)
    if hasattr(run.config.model, "activation"):
        return "They were from the first steps on; ReLU has no such ends.", {"model.activation": "relu"}
    return "They were from the first steps on: inputs are not scaled, or the weights begin too large.", {}


def _find_first(shares: NDArray[np.float32]) -> tuple[int, float, int] | None:
    """Of the layers above the threshold the first from the input: which, its share, and the row since which it is above; None where
    there is none."""
    above = shares[-1] > MOST_DEAD  # NaN is not
    if not above.any():
        return None
    layer = int(above.argmax())
    below = np.flatnonzero(np.nan_to_num(shares[:, layer]) <= MOST_DEAD)
    return layer, float(shares[-1, layer]), int(below[-1]) + 1 if len(below) else 0


def _level(run: Recorded, shares: NDArray[np.float32]) -> FindingLevel:
    progress = find_progress(run)
    enough = HALTING_PROGRESS if shares[-1] - shares[0] >= DIED else LITTLE_PROGRESS
    return "warning" if progress is not None and progress.best < enough else "info"


def _evidence(view: UnitView, shares: NDArray[np.float32], layer: int) -> Mapping[str, JsonValue]:
    above: list[JsonValue] = [view.layers[place] for place in np.flatnonzero(np.nan_to_num(shares[-1]) > MOST_DEAD)]
    return {"first": float(shares[0, layer]), "now": float(shares[-1, layer]), "layers": above[:20]}


JUDGES = (judge_dead, judge_saturated)
