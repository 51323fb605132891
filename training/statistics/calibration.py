"""Whether what a model calls 80 % likely comes true in 80 %: reliability bins, and a temperature that mends it.

``confidences`` (n,) are what the model gives, ``correct`` (n,) what came true: of several classes the probability of the
predicted one and whether it is right, of two classes or a label the probability of the second and whether it is true."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.statistics.grouped import Groups, count_cells, rate_intervals
from training.statistics.intervals import Floats, Interval

BINS = 15
COLDEST, HOTTEST = 0.01, 100.0
"""Between these a temperature is looked for."""


class Unfittable(ValueError):
    """No temperature has the least loss: the message, a clause, says why."""


class Bin(NamedTuple):
    """Samples of like confidence: between ``low`` and ``high``, ``samples`` of them, their mean confidence (NaN without samples), and
    which rate of them came true."""

    low: float
    high: float
    samples: int
    confidence: float
    accuracy: Interval


class Reliability(NamedTuple):
    """Bins in the order of confidence, and the expected calibration error over them."""

    bins: list[Bin]
    error: float


def bin_by_width(confidences: NDArray[np.floating], bins: int = BINS) -> NDArray[np.intp]:
    """(n,): bins of equal width, each with its upper edge, as torchmetrics has them but for 1.0 itself, which is in the last."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    return np.clip(np.searchsorted(edges, confidences, side="right") - 1, 0, bins - 1)


def bin_by_mass(confidences: NDArray[np.floating], bins: int = BINS) -> NDArray[np.intp]:
    """(n,): bins of as many samples each, but for equal confidences, which share a bin."""
    ordered = np.sort(confidences)
    starts = ordered[np.arange(1, bins) * len(ordered) // bins] if len(ordered) else ordered
    return np.searchsorted(starts, confidences, side="right")


def reliability(
    confidences: NDArray[np.floating],
    correct: NDArray[np.bool_],
    bins: int = BINS,
    equal_mass: bool = False,
    groups: Groups = None,
) -> Reliability:
    """Bins of equal width, from 0 to 1, or of as many samples each, from the least confidence to the greatest; their rates with limits by
    ``groups`` (``training.statistics.grouped``)."""
    confidences, correct = np.asarray(confidences, np.float64), np.asarray(correct, bool)
    place = (bin_by_mass if equal_mass else bin_by_width)(confidences, bins)
    counts = np.bincount(place, minlength=bins)
    sums = np.bincount(place, confidences, minlength=bins)
    hits = np.bincount(place, correct, minlength=bins)
    rates = rate_intervals(*(count_cells(place, bins, groups, each) for each in (correct, None)))
    edges = np.linspace(0.0, 1.0, bins + 1)
    ordered, ends = np.sort(confidences) if equal_mass else confidences, counts.cumsum()
    found = []
    for number in range(bins):
        low, high = float(edges[number]), float(edges[number + 1])
        count = int(counts[number])
        if equal_mass:
            if not count:
                continue  # so many equal confidences that they fill the bins of others
            low, high = float(ordered[ends[number] - count]), float(ordered[ends[number] - 1])
        confidence = float(sums[number] / count) if count else float("nan")
        found.append(Bin(low, high, count, confidence, rates[number]))
    error = float(np.abs(hits - sums).sum() / len(confidences)) if len(confidences) else float("nan")
    return Reliability(found, error)


# ----------------------------------------------------------------------------------------------------- temperature


def fit_temperature(
    logits: NDArray[np.floating], targets: NDArray[np.integer], multiplicity: Floats | None = None
) -> float:
    """The temperature T for which softmax(logits / T) has the least negative log-likelihood (Guo et al. 2017), of logits
    (n, columns) and the columns ``targets`` (n,), between ``COLDEST`` and ``HOTTEST``. Of one logit of a binary task or a
    label the columns are (0, logit). ``multiplicity`` (columns,): how many equal logits a column stands for; see
    ``gather_rest``.

    The likelihood is convex in 1 / T, whose root of the slope Newton's steps find, and bisection where they would leave the
    bracket. Raises Unfittable where there is no such T: of answers that are all right, for a smaller T is better without end, and
    where the root lies outside the bounds."""
    logits = np.asarray(logits, dtype=np.float64)
    own = logits[np.arange(len(logits)), targets]
    if (own >= logits.max(1)).all():
        raise Unfittable(
            f"all {len(logits):,} answers are right, so the loss falls without end as the temperature falls"
        )
    for bound, sign, side in ((COLDEST, -1.0, "below"), (HOTTEST, 1.0, "above")):
        if sign * bend(logits, own, 1.0 / bound, multiplicity)[0] > 0.0:
            raise Unfittable(f"the loss is least {side} {bound:g}, where a temperature is none")
    low, high = 1.0 / HOTTEST, 1.0 / COLDEST
    inverse = 1.0
    for _ in range(100):
        slope, curvature = bend(logits, own, inverse, multiplicity)
        low, high = (inverse, high) if slope < 0.0 else (low, inverse)
        step = inverse - slope / curvature if curvature > 0.0 else low
        moved = step if low < step < high else (low + high) / 2.0
        if abs(moved - inverse) <= 1e-10 * inverse:
            break
        inverse = moved
    return 1.0 / inverse


def bend(
    logits: NDArray[np.floating], own: NDArray[np.floating], inverse: float, multiplicity: Floats | None
) -> tuple[float, float]:
    """First and second derivative of the mean negative log-likelihood by 1 / T."""
    slope = curvature = 0.0
    for start in range(0, len(logits), 4096):
        some = logits[start : start + 4096]
        likely = np.exp(inverse * (some - some.max(1, keepdims=True)))
        if multiplicity is not None:
            likely = likely * multiplicity
        likely /= likely.sum(1, keepdims=True)
        mean = (likely * some).sum(1)
        slope += float((mean - own[start : start + 4096]).sum())
        curvature += float((likely * np.square(some - mean[:, None])).sum())
    return slope / len(logits), curvature / len(logits)


def gather_rest(scores: NDArray[np.floating], log_sum: NDArray[np.floating], classes: int) -> tuple[Floats, Floats]:
    """Logits (n, k + 1) and multiplicity (k + 1,) for ``fit_temperature`` where of ``classes`` logits only the k largest (n, k) were
    kept, and the logarithm of the sum of the exponentials of all (n,): the last column stands for all others, as if they
    were equal. A target among those is k."""
    scores = np.asarray(scores, np.float64)
    others = classes - scores.shape[1]
    rest = np.maximum(1.0 - np.exp(scores - log_sum[:, None]).sum(1), 1e-12)
    logits = np.concatenate([scores, (np.log(rest / others) + log_sum)[:, None]], axis=1)
    return logits, np.append(np.ones(scores.shape[1]), float(others))
