"""Labels that a simple model, which did not see them, takes for wrong; and labels that belong to the sample beside."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from training.doctor.samples.looked import Looked
from training.doctor.samples.simple_model import SimpleModel
from training.events import Finding
from training.findings.labels import (
    AGAINST_EXPECTED,
    FAR_APART,
    FAR_SHARE,
    LEAST_FAR,
    LEAST_LABELS,
    MANY_WRONG,
    MOST_WRONG,
    MUCH_KNOWN,
    PLATEAU,
    RANDOM_LESS,
    SHIFT_GAIN,
    SHIFTED,
    SOME_SKILL,
    SOME_WRONG,
    STILL_LEARNS,
    SUSPECT,
    WELL_KNOWN,
)
from training.system.untrusted import escape_unprintable

_SHOWN = 3


def suspicion_findings(looked: Looked) -> Iterator[Finding]:
    """Nothing where the model learns too little to say so."""
    model = looked.model
    if model is None:
        yield from _of_values(looked)
        return
    if len(looked.labels) < LEAST_LABELS:
        return
    shifted = _find_shift(looked, model)
    if shifted is not None:
        yield shifted
        return
    answers = model.held_out
    wrong = answers.argmax(1) != looked.labels
    ranked = np.sort(answers, 1)
    order = np.argsort(ranked[:, -2] - ranked[:, -1], kind="stable")  # the surest first
    errors = wrong[order]
    tenth, fifth, most = (float(errors[: max(1, int(share * len(errors)))].mean()) for share in (0.1, 0.2, 0.4))
    usual = float(np.bincount(looked.labels).max() / len(looked.labels))
    kept = float(wrong.mean()) / (1.0 - usual + 1e-9)  # of the mistakes of guessing
    error = math.sqrt(tenth * (1.0 - tenth) / max(1, len(errors) // 10)) if kept <= 1.0 - WELL_KNOWN else 0.0
    if not SOME_WRONG <= fifth <= MOST_WRONG or tenth + error < PLATEAU * most:
        return  # errors that become fewer where it is sure are the model's own
    sure = order[: len(order) // 5]
    doubtful = sure[wrong[sure]]
    source, names = looked.data.source, looked.data.facts.names
    shown = "; ".join(
        f"{source.name(int(looked.trained[row]))}: {names[looked.labels[row]]}, or {names[int(answers[row].argmax())]}?"
        for row in doubtful[:_SHOWN].tolist()
    )
    many = fifth >= MANY_WRONG and kept <= 1.0 - MUCH_KNOWN and not _is_too_simple(looked, float(wrong.mean()))
    yield SUSPECT.find(
        "warning" if many else "info",
        f"About {fifth:.0%} of the labels seem to be wrong: so often a simple model disagrees with those of which it is surest ({shown})",
        "Look through them: after a run, the Evaluate page ranks suspicious labels, and dataset.exclude leaves them out.",
        evidence={
            "share": fifth,
            "looked_at": len(looked.labels),
            "samples": [int(looked.trained[row]) for row in doubtful[:16]],
        },
    )


def _of_values(looked: Looked) -> Iterator[Finding]:
    """Numbers that lie far from what the model expects, high where it expects low ones: those of other samples, as noise of any size is not."""
    source, facts = looked.data.source, looked.data.facts
    if source.target != "values" or len(looked.trained) < LEAST_LABELS:
        return
    values: NDArray[np.float32] = (
        source.targets[looked.trained].numpy().astype(np.float32).reshape(len(looked.trained), -1)
    )
    scaled = (values - values.mean(0)) / (values.std(0) + 1e-12)
    expected = looked.learn(scaled).held_out
    for place, name in enumerate(facts.names):
        mine, theirs = scaled[:, place].astype(np.float64), expected[:, place].astype(np.float64)
        apart = mine - theirs
        far = np.abs(apart - np.median(apart)) > FAR_APART * 1.4826 * np.median(np.abs(apart - np.median(apart)))
        explained = 1.0 - float((apart**2).mean() / max(float(mine.var()), 1e-12))
        if far.sum() < LEAST_FAR or far.mean() < FAR_SHARE or explained < SOME_SKILL:
            continue
        against = float(np.corrcoef(mine[far], theirs[far])[0, 1])
        if not against < AGAINST_EXPECTED:
            continue
        order = np.flatnonzero(far)[np.argsort(-np.abs(apart[far]), kind="stable")]
        shown = "; ".join(
            f"{source.name(int(looked.trained[row]))}: {values[row, place]:.4g}, where {theirs[row] * values[:, place].std() + values[:, place].mean():.4g} was expected"
            for row in order[:_SHOWN].tolist()
        )
        yield SUSPECT.find(
            "warning",
            f"Values of '{escape_unprintable(name, 60)}' seem to belong to other samples: {far.mean():.0%} lie far from what a simple model expects, high where it expects low ones "
            f"({shown}).",
            "Look through them, and at how inputs and values were joined.",
            place=name if len(facts.names) > 1 else "",
            evidence={"share": float(far.mean()), "correlation": against, "looked_at": len(mine)},
        )
        return


def _is_too_simple(looked: Looked, wrong: float) -> bool:
    """Whether the model would be right more often if it could tell more: with a part of what it has it is wrong far more often. Labels that are
    wrong stay so, whatever it can tell."""
    model = looked.model
    if model is None or not model.bends:
        return False
    less = replace(model, random=model.random // RANDOM_LESS)
    return float((less.held_out.argmax(1) != looked.labels).mean()) > wrong + STILL_LEARNS


def _find_shift(looked: Looked, model: SimpleModel) -> Finding | None:
    """Whether the label of the sample before or behind fits better than a sample's own."""
    targets = looked.data.source.targets.numpy()
    own = _is_right(model, looked.labels)
    classes = model.targets.shape[1]
    for step, where in ((1, "behind"), (-1, "before")):
        numbers = np.clip(looked.trained.numpy() + step, 0, len(targets) - 1)
        theirs: NDArray[np.int64] = targets[numbers]
        if (theirs == looked.labels).mean() > 0.5:
            return None  # in the order of their classes, all labels are those of the neighbors
        right = _is_right(replace(model, targets=np.eye(classes, dtype=np.float32)[theirs]), theirs)
        if right >= own + SHIFT_GAIN:
            return SHIFTED.find(
                "warning",
                f"The labels are those of other samples: a simple model learns the label of the sample {where} ({right:.0%} right), not a sample's own "
                f"({own:.0%}).",
                "A row was probably left out or added at the beginning of one of the two lists: join inputs and labels again.",
                evidence={"own": own, "neighbor": right, "step": step},
            )
    return None


def _is_right(model: SimpleModel, labels: NDArray[np.int64]) -> float:
    return float((model.held_out.argmax(1) == labels).mean())
