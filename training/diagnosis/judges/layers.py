"""What weights and updates of single layers tell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from training.diagnosis.layer_view import find_progress, sizes_at_work, view_layers
from training.diagnosis.rates import scale_rate
from training.diagnosis.recorded import Recorded
from training.events import Finding
from training.findings.layers import (
    BIG,
    GOOD,
    LITTLE_PROGRESS,
    MOSTLY,
    SMALL,
    TOO_BIG,
    TOO_SMALL,
    UNCHANGED,
    UNCHANGED_RECORDS,
)

_LEAST_RECORDS = 3


def judge_updates(run: Recorded) -> Iterator[Finding]:
    """A step changes the weights too much, or too little, and nothing is learned."""
    progress = find_progress(run)
    if progress is None or (progress.best >= LITTLE_PROGRESS and progress.now >= progress.best / 2):
        return
    sizes, steps = sizes_at_work(run)
    if len(sizes) < _LEAST_RECORDS:
        return
    median = float(np.median(sizes))
    evidence = {
        "median": median,
        "records": len(sizes),
        "progress": progress.best,
        "lr": float(run.steps["lr"][steps[-1] - 1]),
    }
    big = sizes > BIG
    if big.mean() > MOSTLY and (progress.best < LITTLE_PROGRESS or progress.now < progress.best / 2):
        yield TOO_BIG.find(
            "warning",
            f"In the median layer each step changes the weights by {10**median:.2g} of their norm, and the loss does not come down.",
            "The learning rate is too high: a thousandth to a hundredth is usual.",
            evidence=evidence,
            fix=scale_rate(run.config, 10.0 ** (GOOD - median)),
            since=int(steps[np.argmax(big)]),
        )
    small = sizes < SMALL
    if small.mean() > MOSTLY and progress.best < LITTLE_PROGRESS:
        yield TOO_SMALL.find(
            "warning",
            f"In the median layer each step changes the weights by {10**median:.2g} of their norm, and the loss hardly comes down.",
            "The learning rate is too low: a thousandth to a hundredth is usual.",
            evidence=evidence,
            fix=scale_rate(run.config, 10.0 ** (GOOD - median)),
            since=int(steps[np.argmax(small)]),
        )


def judge_unchanged(run: Recorded) -> Iterator[Finding]:
    """Layers that nothing changed yet, though they should be trained."""
    view = view_layers(run, first=1)
    if run.step < run.warmup or view is None or run.config.optimizer.freeze != "off":
        return
    rows = run.steps["lr"][view.steps - 1] > 0
    updates, gradients = view.updates[rows], view.gradients[rows]
    if len(updates) < UNCHANGED_RECORDS:
        return
    still = (updates == 0).all(0)
    if not still.any():
        return
    places = np.flatnonzero(still)
    without = (gradients[:, places] == 0).all(0)
    names = [view.layers[place] for place in places]
    why = "The optimizer leaves them as they are"
    if without.any():
        why = (
            "No gradient reaches them"
            if without.all()
            else "Some get no gradient, and the optimizer leaves others as they are"
        )
    shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
    yield UNCHANGED.find(
        "warning",
        f"The weights of {len(names)} of {len(view.layers)} layers do not change: {shown}.",
        f"{why}: look whether they take part in the answer, are detached from it, frozen by hand, or lie behind dead units.",
        place=names[0],
        evidence={"layers": names[:20], "records": len(updates)},
        since=int(view.steps[rows][0]),
    )


JUDGES = (judge_updates, judge_unchanged)
