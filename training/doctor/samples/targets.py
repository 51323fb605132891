"""What there is to say of the numbers and classes to learn: their scale, outliers, and weights that go against their counts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from training.config.sections.objective import Binary, Classification, OwnLoss, Regression, Segmentation
from training.core.splits import pick_evenly
from training.engine.session import Session
from training.events import Finding
from training.findings.data import (
    FAR_TARGET,
    FEWEST_NORMAL,
    GAP,
    LEAST_TARGETS,
    MEDIAN,
    MOSTLY_ONE,
    OUTLIER_SHARE,
    OUTLIERS,
    SCALE,
    SMALL_TARGET,
    UNEVEN,
)
from training.findings.labels import AGAINST, TIMES_WORSE, WEIGHTS
from training.system.untrusted import escape_unprintable

_LOOKED_AT = 200_000


def target_findings(session: Session) -> Iterator[Finding]:
    """Of numbers, then of classes."""
    if session.data.facts.target == "values":
        yield from _scale(session)
        yield from _outliers(session)
        yield from _mostly_one(session)
    yield from _weights(session)


def _scale(session: Session) -> Iterator[Finding]:
    """Targets that a loss takes in their own unit."""
    objective, facts = session.config.objective, session.data.facts
    raw = isinstance(objective, OwnLoss) or (isinstance(objective, Regression) and not objective.standardise)
    if not raw or len(facts.target_mean) != len(facts.names):
        return
    for name, mean, std in zip(facts.names, facts.target_mean, facts.target_std, strict=True):
        large = max(abs(mean), std)
        if SMALL_TARGET <= large <= FAR_TARGET:
            continue
        own = isinstance(objective, OwnLoss)
        advice = (
            "Divide them in your loss or data, unless your loss does so."
            if own
            else "Let the program standardize them."
        )
        fix: dict[str, JsonValue] = {} if own else {"objective.standardise": True}
        shown = escape_unprintable(name, 60)
        yield SCALE.find(
            "info" if own else "warning",
            f"The values to predict ('{shown}') have a mean of {mean:.3g} and a std of {std:.3g}, and the loss takes them as they are: a network begins "
            f"near 0, and gradients are {'huge' if large > 1 else 'tiny'}.",
            advice,
            place="targets",
            evidence={"mean": mean, "std": std},
            fix=fix,
        )
        return


def _outliers(session: Session) -> Iterator[Finding]:
    """Few values that make up most of a squared error."""
    objective, data = session.config.objective, session.data
    squares = isinstance(objective, Regression) and (
        objective.loss == "mse" or (objective.loss == "weighted_sum" and objective.mse_weight > 0)
    )
    rows = pick_evenly(data.splits["train"], _LOOKED_AT)
    if not squares or len(rows) < LEAST_TARGETS:
        return
    values: NDArray[np.float32] = data.source.targets[rows].numpy()
    for place, name in enumerate(data.facts.names):
        column = values[:, place].astype(np.float64)
        apart = np.abs(column - np.median(column))
        far = np.argsort(-apart, kind="stable")[: len(column) // FEWEST_NORMAL + 1]
        gaps = np.flatnonzero(apart[far[:-1]] >= GAP * np.maximum(apart[far[1:]], 1e-300))
        extreme = far[: gaps[-1] + 1] if len(gaps) else far[:0]
        share = float((apart[extreme] ** 2).sum() / max(float((apart**2).sum()), 1e-300))
        if share < OUTLIER_SHARE or not np.median(apart):
            continue
        first = int(rows[extreme[0]])
        shown = escape_unprintable(name, 60)
        yield OUTLIERS.find(
            "warning",
            f"{len(extreme):,} of {len(column):,} values of '{shown}' lie far from all others and make up {share:.0%} of the squared error: "
            f"{data.source.name(first)} has {column[extreme[0]]:.4g}, the median is {np.median(column):.4g}.",
            "Correct them if they are mistakes; else take a loss that grows less with them.",
            place=name if len(data.facts.names) > 1 else "",
            evidence={"share": share, "values": len(extreme), "samples": [int(rows[row]) for row in extreme[:16]]},
            fix={"objective.loss": "l1"},
        )
        return


def _mostly_one(session: Session) -> Iterator[Finding]:
    """Targets that mostly have one value, which then is their median: the best answer that looks at no input."""
    objective, data = session.config.objective, session.data
    rows = pick_evenly(data.splits["train"], _LOOKED_AT)
    if not isinstance(objective, Regression) or objective.loss != "l1" or len(rows) < LEAST_TARGETS:
        return
    values: NDArray[np.float32] = data.source.targets[rows].numpy()
    for place, name in enumerate(data.facts.names):
        found, counts = np.unique(values[:, place], return_counts=True)
        share = float(counts.max() / counts.sum())
        if share < MOSTLY_ONE or len(found) < 2:
            continue
        shown, value = escape_unprintable(name, 60), found[counts.argmax()]
        yield MEDIAN.find(
            "warning",
            f"{share:.0%} of the values of '{shown}' are {value:.4g}, and the absolute error is lowest for the median: answering {value:.4g} to all costs little.",
            "The squared error is lowest for the mean, which the others move.",
            place=name if len(data.facts.names) > 1 else "",
            evidence={"share": share, "value": float(value)},
            fix={"objective.loss": "mse"},
        )
        return


def _weights(session: Session) -> Iterator[Finding]:
    """Weights that make classes more uneven than they are."""
    objective, facts = session.config.objective, session.data.facts
    counts = np.array(facts.counts, np.float64)
    given: NDArray[np.float64]
    if isinstance(objective, Classification | Segmentation) and objective.class_weights and not objective.balanced:
        given, place = np.array(objective.class_weights), "objective.class_weights"
        undo: dict[str, JsonValue] = {place: []}
    elif isinstance(objective, Binary) and objective.pos_weight is not None and not objective.balanced:
        given, place = np.array([1.0, objective.pos_weight]), "objective.pos_weight"
        undo = {place: None}
    else:
        return
    if len(given) != len(counts) or not (counts > 0).all():
        return
    if session.config.loader.sampling == "balanced":
        counts = np.ones_like(counts)
    before, after = (float(each.max() / max(each.min(), 1e-12)) for each in (counts, counts * given))
    if after < AGAINST or after < TIMES_WORSE * before:
        return
    masses = counts * given
    heavy, light = facts.names[int(masses.argmax())], facts.names[int(masses.argmin())]
    if before > UNEVEN:
        undo["objective.balanced"] = True
    yield WEIGHTS.find(
        "warning",
        f"{place} goes against the counts: with it {heavy} counts {after:,.0f} times as much as {light}, without it the largest class {before:,.1f} times "
        "as much as the smallest.",
        "Rare classes need the larger weights; let the program weigh them, or leave it out.",
        place=place,
        evidence={"with_weights": after, "without": before},
        fix=undo,
    )
