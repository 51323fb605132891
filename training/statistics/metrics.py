"""Metrics as functions of how often each sample counts: see ``training.statistics.intervals.Metric``.

They are defined as in ``training.core.scores`` and ``training.core.kept_scores``, by which a run is validated. In all of
them n is the number of samples, whatever one is: an image, a row, a sequence, a query."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.statistics.calibration import BINS, bin_by_mass, bin_by_width
from training.statistics.influences import correlate_ranks, place_between, weigh_precisions
from training.statistics.intervals import Floats, Metric, Weights

Score = Callable[[Floats], Floats]

# ------------------------------------------------------------------------------------------------- means and ratios


def mean(values: NDArray[np.floating | np.integer | np.bool_]) -> Metric:
    """The mean of a number of each sample (n,), NaN ones left out: accuracy, MAE of one value, NDCG, recall at k."""
    values = np.asarray(values, dtype=np.float64)
    return ratio(np.nan_to_num(values), ~np.isnan(values))


def ratio(
    numerators: NDArray[np.floating | np.integer | np.bool_],
    denominators: NDArray[np.floating | np.integer | np.bool_],
    apply: Callable[[Floats], Floats] | None = None,
) -> Metric:
    """Sum of the numerators (n,) / sum of the denominators (n,), and what ``apply`` makes of it: tokens that are right of all
    tokens, pixels, pairs of items in order."""

    def score(sums: Floats) -> Floats:
        found = divide(sums[:, 0], sums[:, 1])
        return found if apply is None else apply(found)

    return of_sums(np.stack([numerators, denominators], axis=1), score)


def perplexity(nats: NDArray[np.floating], tokens: NDArray[np.integer]) -> Metric:
    """e to the mean loss of a token, from the summed loss and the number of tokens of each sequence (n,)."""
    return ratio(nats, tokens, lambda means: np.exp(np.minimum(means, 700.0)))


def bits_per_token(nats: NDArray[np.floating], tokens: NDArray[np.integer]) -> Metric:
    """The mean loss of a token in bits, from the same."""
    return ratio(nats, tokens, lambda means: means / math.log(2.0))


# --------------------------------------------------------------------------------------------------------- classes


def precision(support: Floats, predicted: Floats, correct: Floats) -> Floats:
    """How many of those that were predicted to be of a class are of it; NaN where none was."""
    return divide(correct, predicted)


def recall(support: Floats, predicted: Floats, correct: Floats) -> Floats:
    """How many of those of a class were predicted to be of it; NaN where none is."""
    return divide(correct, support)


def f1(support: Floats, predicted: Floats, correct: Floats) -> Floats:
    """The harmonic mean of both, which is the Dice score; NaN for a class neither there nor predicted."""
    return divide(2.0 * correct, support + predicted)


def iou(support: Floats, predicted: Floats, correct: Floats) -> Floats:
    """Intersection over union; NaN for a class neither there nor predicted."""
    return divide(correct, support + predicted - correct)


def class_scores(
    targets: NDArray[np.integer],
    predictions: NDArray[np.integer],
    classes: int,
    score: Callable[[Floats, Floats, Floats], Floats] = f1,
    macro: bool = True,
) -> Metric:
    """The mean over classes of ``score`` (``f1``, ``precision``, ``recall``, ``iou``), NaN ones left out; one number for each
    class where not ``macro``. Targets and predictions are class numbers (n,); samples of a negative target don't count."""
    there = np.flatnonzero(np.asarray(targets) >= 0)
    truth, guesses = (np.asarray(each)[there].astype(np.intp) for each in (targets, predictions))
    right = np.flatnonzero(truth == guesses)

    def gather(weights: Weights) -> Floats:
        counted = weights if len(there) == len(targets) else weights[:, there]
        parts = [add_up(truth, counted, classes), add_up(guesses, counted, classes)]
        return np.concatenate([*parts, add_up(truth[right], counted[:, right], classes)], axis=1)

    return Metric(len(targets), gather, of_counts(score, classes, macro))


def count_scores(
    support: NDArray[np.integer | np.bool_],
    predicted: NDArray[np.integer | np.bool_],
    correct: NDArray[np.integer | np.bool_],
    score: Callable[[Floats, Floats, Floats], Floats] = iou,
    macro: bool = True,
) -> Metric:
    """As ``class_scores``, of counts (n, classes) of each sample: pixels of an image, labels of a row (0 or 1 each). Mean IoU,
    Dice, macro-F1 of labels; micro-F1 where the counts are summed over the labels, (n, 1)."""
    classes = support.shape[1]
    if score not in (f1, iou):
        return of_sums(np.concatenate([support, predicted, correct], axis=1), of_counts(score, classes, macro))
    # These ask for the sum of both alone: a third less to add up, which is all that takes time.
    full = of_counts(score, classes, macro)

    def compute(sums: Floats) -> Floats:
        both, right = np.split(sums, 2, axis=1)
        return full(np.concatenate([both, np.zeros_like(both), right], axis=1))

    return of_sums(np.concatenate([np.add(support, predicted, dtype=np.int64), correct], axis=1), compute)


def of_counts(score: Callable[[Floats, Floats, Floats], Floats], classes: int, macro: bool) -> Score:
    """The score of summed support, predicted and correct (b, 3 classes)."""

    def compute(sums: Floats) -> Floats:
        found = score(sums[:, :classes], sums[:, classes : 2 * classes], sums[:, 2 * classes :])
        return mean_known(found) if macro else found

    return compute


# ---------------------------------------------------------------------------------------------------------- curves


def auroc(scores: NDArray[np.floating], positive: NDArray[np.bool_], macro: bool = True) -> Metric:
    """The area under the ROC curve of scores (n, columns), of which ``positive``, bool (n, columns), tells the truth: one column
    of a binary task, labels, or classes against the rest (``targets[:, None] == np.arange(classes)``). The mean over
    columns, those never or always positive left out; one number for each where not ``macro``.

    Exact as it stands, by one sort a column. Resamples are exact in what the area owes to each sample (its placement: the
    share of the other side that it is above or below; DeLong et al. 1988) and leave out what two samples owe to each
    other, whose variance is at most 1 / (4 positives negatives) beside one of some 1 / (4 positives) + 1 / (4 negatives)."""
    scores, positive = as_matrix(scores), as_matrix(positive)
    found = [place_between(*column) for column in zip(scores.T, positive.T, strict=True)]
    areas, placements = np.array([area for area, _ in found]), np.stack([each for _, each in found], axis=1)
    columns = len(areas)
    gather_all, gather_positives = gather_sums(placements), gather_true(placements, positive)

    def gather(weights: Weights) -> Floats:
        totals = weights.sum(1, dtype=np.float64)[:, None]
        return np.concatenate([gather_all(weights), gather_positives(weights), totals], axis=1)

    def score(sums: Floats) -> Floats:
        everyone, upper, positives, totals = np.split(sums, [columns, 2 * columns, 3 * columns], axis=1)
        values = areas + divide(upper, positives) + divide(everyone - upper, totals - positives)
        return mean_known(values) if macro else values

    return Metric(len(scores), gather, score, bounds=(0.0, 1.0))


def gather_true(placements: Floats, positive: NDArray[np.bool_]) -> Callable[[Weights], Floats]:
    """Weights (b, n) -> (b, 2 columns): the weighted sums of the placements (n, columns) of the positives, and of their number."""
    owned = positive.sum(1)
    if owned.max(initial=0) > 1:
        return gather_sums(np.concatenate([np.where(positive, placements, 0.0), positive], axis=1))
    # Classes: what is theirs is added up without the zeros of all the others.
    rows = np.flatnonzero(owned)
    own = positive[rows].argmax(1)
    heights, columns = placements[rows, own], placements.shape[1]

    def gather(weights: Weights) -> Floats:
        counted = weights[:, rows]
        return np.concatenate([add_up(own, counted * heights, columns), add_up(own, counted, columns)], axis=1)

    return gather


def average_precision(scores: NDArray[np.floating], positive: NDArray[np.bool_], macro: bool = True) -> Metric:
    """The mean of the precisions, by how much recall each adds, of scores and truth as in ``auroc``. Exact as it stands; resamples
    move it by what each sample adds to it in first order (its influence)."""
    pairs = zip(as_matrix(scores).T, as_matrix(positive).T, strict=True)
    return of_influences([weigh_precisions(*column) for column in pairs], macro, (0.0, 1.0))


# ---------------------------------------------------------------------------------------------------------- values


def r2(predictions: NDArray[np.floating], targets: NDArray[np.floating], macro: bool = True) -> Metric:
    """1 - squared errors / squared distances from the mean of the targets, of (n,) or (n, values): the mean over values."""

    def score(errors: Floats, squares: Floats, sums: Floats, count: Floats) -> Floats:
        spread = squares - divide(np.square(sums), count)
        return 1.0 - divide(errors, np.where(spread > 1e-12 * squares, spread, 0.0))

    return of_errors(predictions, targets, np.square, score, macro)


def rmse(predictions: NDArray[np.floating], targets: NDArray[np.floating], macro: bool = True) -> Metric:
    """The root of the mean squared error, of (n,) or (n, values): the mean over values."""
    return of_errors(
        predictions, targets, np.square, lambda errors, _, __, count: np.sqrt(divide(errors, count)), macro
    )


def mae(predictions: NDArray[np.floating], targets: NDArray[np.floating], macro: bool = True) -> Metric:
    """The mean absolute error, of (n,) or (n, values): the mean over values."""
    return of_errors(predictions, targets, np.abs, lambda errors, _, __, count: divide(errors, count), macro)


def of_errors(
    predictions: NDArray[np.floating],
    targets: NDArray[np.floating],
    measure: Callable[[Floats], Floats],
    score: Callable[[Floats, Floats, Floats, Floats], Floats],
    macro: bool,
) -> Metric:
    """The score of summed measures of the errors, squares and sums of the targets about their mean (b, values), and the count."""
    predictions, targets = (as_matrix(np.asarray(each, dtype=np.float64)) for each in (predictions, targets))
    values = targets.shape[1]
    centered = targets - targets.mean(0)
    terms = [measure(predictions - targets), np.square(centered), centered, np.ones((len(targets), 1))]

    def compute(sums: Floats) -> Floats:
        found = score(*np.split(sums, [values, 2 * values, 3 * values], axis=1))
        return mean_known(found) if macro else found

    return of_sums(np.concatenate(terms, axis=1), compute)


def spearman(predictions: NDArray[np.floating], targets: NDArray[np.floating], macro: bool = True) -> Metric:
    """Pearson's correlation of the ranks, of (n,) or (n, values): the mean over values. Exact as it stands; resamples move it
    by what each sample adds to it in first order (its influence)."""
    pairs = zip(as_matrix(predictions).T, as_matrix(targets).T, strict=True)
    return of_influences([correlate_ranks(*column) for column in pairs], macro, (-1.0, 1.0))


# ----------------------------------------------------------------------------------------------------- calibration


def calibration_error(
    confidences: NDArray[np.floating], correct: NDArray[np.bool_], bins: int = BINS, equal_mass: bool = False
) -> Metric:
    """The expected calibration error (Naeini et al. 2015): the distance of confidence and accuracy in each bin, by its share of the
    samples; confidences and what came true, (n,). Bins as in ``training.statistics.calibration``.

    With few samples chance alone makes accuracies differ from confidences, so the number is too large: of a perfectly
    calibrated model it is not 0. The interval is that of the error which endless samples in these bins would show, so
    it reaches farther down than up, and to 0 where the model may be calibrated: see ``limit_gaps``."""
    confidences, correct = np.asarray(confidences, np.float64), np.asarray(correct, np.float64)
    place = (bin_by_mass if equal_mass else bin_by_width)(confidences, bins)
    terms = np.zeros((len(place), bins + 1))
    terms[np.arange(len(place)), place] = correct - confidences
    terms[:, bins] = 1.0
    return Metric(
        len(place), gather_sums(terms), lambda sums: divide(np.abs(sums[:, :-1]).sum(1), sums[:, -1]), limit_gaps
    )


def limit_gaps(sums: Floats, draws: Floats, level: float) -> tuple[float, float]:
    """Limits of the sum of absolute gaps, from the gaps and the count (bins + 1,) and those of the resamples (b, bins + 1).

    They invert a bootstrap test: the sums of true gaps at which a sum at least, or at most, as large as this one would come
    up in 2.5 % of the data sets; the number itself at least. The true gaps are taken to lie to each other as those
    found do, and, as far as these are chance, as its deviations do.

    No sum is too small for a model without gaps, so all 5 % lie above there; what lies below has its full share from where gaps
    raise the sum by two standard deviations of chance (Feldman and Cousins 1998 go from one to two sides alike). With half of it
    the interval of a calibrated model would hold 0 in 97.5 %."""
    gaps = sums[:-1] / sums[-1]
    chance = draws[:, :-1] / draws[:, -1:] - gaps
    value = float(np.abs(gaps).sum())
    deviations = chance.std(0)
    noise = min(1.0, float(np.square(deviations).sum()) / max(float(np.square(gaps).sum()), 1e-30))
    even = deviations / max(float(deviations.sum()), 1e-30) * value
    likely = np.copysign((1.0 - noise) * np.abs(gaps) + noise * even, gaps)

    by_chance = np.abs(chance).sum(1)
    rise = max(2.0 * float(by_chance.std()), 1e-30)

    def reaches(factor: float, above: bool) -> bool:
        """Whether the value is no larger than what sums come to, but for the share of them in that tail."""
        sums = np.abs(factor * likely + chance).sum(1)
        below = (0.5 - level / 2.0) * min(1.0, max(0.0, float(sums.mean() - by_chance.mean()) / rise))
        return bool(np.quantile(sums, level + below if above else below) >= value)

    def find(above: bool) -> float:
        """By how much the likely gaps are multiplied, at least by 0, where the value is at the edge of that tail."""
        low, high = 0.0, 3.0
        if reaches(0.0, above):
            return 0.0
        for _ in range(20):
            middle = (low + high) / 2.0
            low, high = (low, middle) if reaches(middle, above) else (middle, high)
        return (low + high) / 2.0

    return min(1.0, find(above=True)) * value, max(1.0, find(above=False)) * value


# ------------------------------------------------------------------------------------------------------ their making


def average(metric: Metric) -> Metric:
    """The mean of several numbers, those of each class or column, NaN ones left out: what ``macro`` makes, without gathering the
    sums again where both are asked for."""
    return Metric(
        metric.samples,
        metric.gather,
        lambda sums: mean_known(metric.score(sums)),
        terms=metric.terms,
        bounds=metric.bounds,
    )


def rescore(metric: Metric, score: Callable[[Floats, Floats, Floats], Floats], classes: int) -> Metric:
    """Another ``score`` of each class, of what ``class_scores`` gathers, without gathering it again."""
    return Metric(metric.samples, metric.gather, of_counts(score, classes, macro=False))


def of_sums(terms: NDArray[np.floating | np.integer], score: Score) -> Metric:
    """A score of the sums of terms (n, k) of the samples."""
    return Metric(len(terms), gather_sums(terms), score, terms=terms)


def of_influences(found: Sequence[tuple[float, Floats]], macro: bool, bounds: tuple[float, float]) -> Metric:
    """Numbers within ``bounds`` that each sample moves by its influence, the derivative (n,) by its weight, where it counts once more."""
    values, influences = np.array([value for value, _ in found]), np.stack([each for _, each in found], axis=1)

    def score(sums: Floats) -> Floats:
        moved = values + sums
        return mean_known(moved) if macro else moved

    return Metric(len(influences), gather_sums(influences - influences.mean(0)), score, bounds=bounds)


def gather_sums(terms: NDArray[np.floating | np.integer | np.bool_]) -> Callable[[Weights], Floats]:
    """Weights (b, n) -> sums (b, k) of terms (n, k): those of the samples as they are in float64, and what the weights change in
    float32, a fraction that is small by itself."""
    totals, small = terms.sum(0, dtype=np.float64), terms.astype(np.float32)
    return lambda weights: totals + (weights - np.float32(1.0)) @ small


def add_up(place: NDArray[np.intp], weights: NDArray[np.floating], size: int) -> Floats:
    """(b, size): the sum of the weights (b, n) at each place (n,)."""
    return np.stack([np.bincount(place, row, minlength=size) for row in weights])


def divide(above: Floats, below: Floats | NDArray[np.integer]) -> Floats:
    """NaN where there is nothing to divide by."""
    below = np.broadcast_to(below, np.shape(above))
    return np.divide(above, below, out=np.full(np.shape(above), math.nan), where=below > 0)


def mean_known(values: Floats) -> Floats:
    """(b,) of (b, m): the mean of those that are no NaN, NaN where all are."""
    known = ~np.isnan(values)
    return divide(np.where(known, values, 0.0).sum(1), known.sum(1))


def as_matrix(values: NDArray[Any]) -> NDArray[Any]:
    """(n, 1) of (n,); (n, columns) as it is."""
    values = np.asarray(values)
    return values[:, None] if values.ndim == 1 else values
