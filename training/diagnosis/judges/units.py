"""What dead and saturated units tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from training.diagnosis.layer_view import UnitView, find_progress, view_units
from training.diagnosis.rates import tame_rate
from training.diagnosis.recorded import Recorded
from training.events import Finding, FindingLevel
from training.findings.layers import DEAD, DIED, HALTING_PROGRESS, LITTLE_PROGRESS, MOST_DEAD, SATURATED


def judge_dead(run: Recorded) -> Iterator[Finding]:
    """Units that no sample wakes."""
    if (view := view_units(run)) is None or (worst := _find_first(view.dead)) is None:
        return
    layer, share, start = worst
    early = bool(view.dead[0, layer] > MOST_DEAD)
    fix: Mapping[str, JsonValue]
    if early:
        why = "They were dead in the first steps already: the weights begin with biases far below 0, or inputs are not scaled."
        fix = {"model.activation": "gelu"} if hasattr(run.config.model, "activation") else {}
    else:
        why = "They died while training: the learning rate is too high."
        fix = tame_rate(run, int(view.steps[start]))
    yield DEAD.find(
        _level(run, view.dead[:, layer]),
        f"{share:.0%} of the units of layer {view.layers[layer]} are dead.",
        why,
        place=view.layers[layer],
        evidence=_evidence(view, view.dead, layer),
        fix=fix,
        since=int(view.steps[start]),
    )


def judge_saturated(run: Recorded) -> Iterator[Finding]:
    """Units of tanh or sigmoid that sit at an end."""
    if (view := view_units(run)) is None or (worst := _find_first(view.saturated)) is None:
        return
    layer, share, start = worst
    early = bool(view.saturated[0, layer] > MOST_DEAD)
    chosen = hasattr(run.config.model, "activation")
    fix: Mapping[str, JsonValue]
    if early and chosen:
        why, fix = "They were from the first steps on; ReLU has no such ends.", {"model.activation": "relu"}
    elif early:
        why, fix = "They were from the first steps on: inputs are not scaled, or the weights begin too large.", {}
    else:
        why, fix = (
            "They came to it while training: the learning rate is too high.",
            tame_rate(run, int(view.steps[start])),
        )
    yield SATURATED.find(
        _level(run, view.saturated[:, layer]),
        f"{share:.0%} of the units of layer {view.layers[layer]} are saturated.",
        why,
        place=view.layers[layer],
        evidence=_evidence(view, view.saturated, layer),
        fix=fix,
        since=int(view.steps[start]),
    )


def _find_first(shares: NDArray[np.float32]) -> tuple[int, float, int] | None:
    """Of the layers above the threshold the first from the input: which, its share, and the row since which it is above; None where
    there is none."""
    newest = np.nan_to_num(shares[-1])
    layer = int((newest > MOST_DEAD).argmax())
    if newest[layer] <= MOST_DEAD:
        return None
    below = np.flatnonzero(np.nan_to_num(shares[:, layer]) <= MOST_DEAD)
    return layer, float(newest[layer]), int(below[-1]) + 1 if len(below) else 0


def _level(run: Recorded, shares: NDArray[np.float32]) -> FindingLevel:
    progress = find_progress(run)
    enough = HALTING_PROGRESS if shares[-1] - shares[0] >= DIED else LITTLE_PROGRESS
    return "warning" if progress is not None and progress.best < enough else "info"


def _evidence(view: UnitView, shares: NDArray[np.float32], layer: int) -> Mapping[str, JsonValue]:
    above: list[JsonValue] = [view.layers[place] for place in np.flatnonzero(np.nan_to_num(shares[-1]) > MOST_DEAD)]
    return {"first": float(shares[0, layer]), "now": float(shares[-1, layer]), "layers": above[:20]}


JUDGES = (judge_dead, judge_saturated)
