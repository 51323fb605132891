"""Every metric against torchmetrics or the engine's own, and its resamples against plain ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torchmetrics.functional
from numpy.typing import NDArray

from training.core import kept_scores
from training.core import scores as core
from training.statistics import metrics
from training.statistics.intervals import Metric, bootstrap, bootstrap_together, draw_weights, ratio_intervals, wilson

RANDOM = np.random.Generator(np.random.PCG64(7))
N, CLASSES = 400, 6
TARGETS = RANDOM.integers(0, CLASSES, N)
LOGITS = (RANDOM.normal(size=(N, CLASSES)) + 1.5 * (TARGETS[:, None] == np.arange(CLASSES))).round(1)
PREDICTIONS = LOGITS.argmax(1)
PROBABILITIES = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
TRUTH = TARGETS[:, None] == np.arange(CLASSES)
LABELS = RANDOM.random((N, 3)) < 0.3
VALUES = RANDOM.normal(3.0, 2.0, (N, 2)).round(1)
ESTIMATES = (VALUES + RANDOM.normal(size=(N, 2))).round(1)
SUPPORT = RANDOM.integers(0, 50, (N, CLASSES)) * (np.arange(CLASSES) > 0)
CORRECT = (SUPPORT * RANDOM.random((N, CLASSES))).astype(np.int64)
PREDICTED = CORRECT + RANDOM.integers(0, 20, (N, CLASSES)) * (np.arange(CLASSES) > 0)


def reference(name: str, *arrays: NDArray[Any], **options: Any) -> NDArray[Any]:
    """What torchmetrics computes."""
    found: NDArray[Any] = getattr(torchmetrics.functional, name)(*map(torch.tensor, arrays), **options).numpy()
    return found


of_classes = partial(reference, task="multiclass", num_classes=CLASSES)
of_labels = partial(reference, task="multilabel", num_labels=3)


def agree(metric: Metric, expected: float | NDArray[Any]) -> None:
    np.testing.assert_allclose(metric.values(), np.atleast_1d(expected), rtol=0, atol=1e-6)


def test_metrics_are_those_of_torchmetrics() -> None:
    agree(metrics.mean(PREDICTIONS == TARGETS), of_classes("accuracy", PREDICTIONS, TARGETS, average="micro"))
    agree(
        metrics.class_scores(TARGETS, PREDICTIONS, CLASSES),
        of_classes("f1_score", PREDICTIONS, TARGETS, average="macro"),
    )
    for name in ("precision", "recall"):
        expected = of_classes(name, PREDICTIONS, TARGETS, average=None)
        agree(metrics.class_scores(TARGETS, PREDICTIONS, CLASSES, getattr(metrics, name), macro=False), expected)
    agree(metrics.auroc(PROBABILITIES, TRUTH), of_classes("auroc", PROBABILITIES, TARGETS))
    agree(metrics.auroc(LOGITS[:, :3], LABELS), of_labels("auroc", LOGITS[:, :3], LABELS.astype(int)))
    agree(metrics.average_precision(PROBABILITIES, TRUTH), of_classes("average_precision", PROBABILITIES, TARGETS))
    agree(metrics.r2(ESTIMATES, VALUES), reference("r2_score", ESTIMATES, VALUES))
    left, right = ESTIMATES[:, 0], VALUES[:, 0]
    agree(metrics.mae(left, right), reference("mean_absolute_error", left, right))
    agree(metrics.rmse(left, right), reference("mean_squared_error", left, right, squared=False))
    agree(metrics.spearman(left, right), reference("spearman_corrcoef", left, right))
    error = of_classes("calibration_error", PROBABILITIES, TARGETS, n_bins=15)
    agree(metrics.calibration_error(PROBABILITIES.max(1), PREDICTIONS == TARGETS), error)


def test_the_rest_is_what_the_engine_measures() -> None:
    """Counts of images and losses of tokens, whose definitions are the engine's own."""
    sums = [torch.tensor(each.sum(0)) for each in (SUPPORT, PREDICTED, CORRECT)]
    for name in ("iou", "f1"):
        expected = getattr(core, name)(*sums).numpy()
        agree(metrics.count_scores(SUPPORT, PREDICTED, CORRECT, getattr(metrics, name), macro=False), expected)
        agree(metrics.count_scores(SUPPORT, PREDICTED, CORRECT, getattr(metrics, name)), np.nanmean(expected))
    nats, tokens = RANDOM.random(N) * 40.0, RANDOM.integers(1, 20, N)
    called = LOGITS[:, :3] > 0.0
    flags = metrics.count_scores(LABELS, called, LABELS & called, metrics.f1)  # bool, which add up, too
    agree(flags, of_labels("f1_score", called.astype(int), LABELS.astype(int), average="macro"))
    agree(metrics.perplexity(nats, tokens), math.exp(nats.sum() / tokens.sum()))
    agree(metrics.bits_per_token(nats, tokens), nats.sum() / tokens.sum() / math.log(2.0))


def test_samples_without_a_target_and_classes_without_samples_do_not_count() -> None:
    targets = np.where(np.arange(N) < 50, -100, TARGETS)

    metric = metrics.class_scores(targets, PREDICTIONS, CLASSES + 1, metrics.recall, macro=False)

    agree(metric, np.append(of_classes("recall", PREDICTIONS[50:], TARGETS[50:], average=None), np.nan))
    found = bootstrap_together({"recall": metric}, resamples=50)["recall"]
    assert math.isnan(found[-1].low)
    macro = metrics.class_scores(targets, PREDICTIONS, CLASSES + 1, metrics.recall)
    assert bootstrap(metrics.average(metric)) == bootstrap(macro)
    assert all(each.low < each.value < each.high for each in found[:-1])


PLAIN: dict[str, tuple[Metric, Callable[[NDArray[Any]], Any]]] = {
    "macro-F1": (
        metrics.class_scores(TARGETS, PREDICTIONS, CLASSES),
        lambda rows: of_classes("f1_score", PREDICTIONS[rows], TARGETS[rows], average="macro"),
    ),
    "AUROC of classes": (
        metrics.auroc(PROBABILITIES, TRUTH),
        lambda rows: of_classes("auroc", PROBABILITIES[rows], TARGETS[rows]),
    ),
    "AUROC of labels": (
        metrics.auroc(LOGITS[:, :3], LABELS),
        lambda rows: of_labels("auroc", LOGITS[rows, :3], LABELS[rows].astype(int)),
    ),
    "average precision": (
        metrics.average_precision(PROBABILITIES, TRUTH),
        lambda rows: of_classes("average_precision", PROBABILITIES[rows], TARGETS[rows]),
    ),
    "R2": (metrics.r2(ESTIMATES, VALUES), lambda rows: reference("r2_score", ESTIMATES[rows], VALUES[rows])),
    "Spearman": (
        metrics.spearman(ESTIMATES[:, 0], VALUES[:, 0]),
        lambda rows: kept_scores.spearman(*(torch.tensor(each[rows, :1]) for each in (ESTIMATES, VALUES))).item(),
    ),
    "mean IoU": (
        metrics.count_scores(SUPPORT, PREDICTED, CORRECT),
        lambda rows: np.nanmean(core.iou(*(torch.tensor(each[rows].sum(0)) for each in (SUPPORT, PREDICTED, CORRECT)))),
    ),
    "ECE": (
        metrics.calibration_error(PROBABILITIES.max(1), PREDICTIONS == TARGETS),
        lambda rows: of_classes("calibration_error", PROBABILITIES[rows], TARGETS[rows], n_bins=15),
    ),
}
BY_INFLUENCES = {"AUROC of classes": 0.12, "AUROC of labels": 0.12, "average precision": 0.25, "Spearman": 0.25}


@pytest.mark.parametrize("name", PLAIN)
def test_a_resample_scores_what_its_samples_score(name: str) -> None:
    """To rounding; where resamples follow influences, to a small part of what they differ by."""
    metric, plain = PLAIN[name]
    weights = next(draw_weights(N, None, 3, 60)).copy()

    ours = metric.score(metric.gather(weights))

    expected = np.array([plain(np.repeat(np.arange(N), row.astype(int))) for row in weights])
    spread = expected.std()
    apart = np.sqrt(np.mean(np.square(ours - expected))) / spread
    assert apart < BY_INFLUENCES.get(name, 1e-4)


def test_limits_depend_on_the_seed_alone_and_groups_are_drawn_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    values = RANDOM.normal(size=200).repeat(5)  # five equal samples in each of 200 groups
    groups = np.arange(200).repeat(5)
    alone = bootstrap(metrics.mean(values))
    together = bootstrap(metrics.mean(values), groups)
    once = bootstrap(metrics.mean(values[::5]))

    assert together.high - together.low == pytest.approx(once.high - once.low, rel=1e-5)
    assert (together.high - together.low) / (alone.high - alone.low) == pytest.approx(math.sqrt(5.0), rel=0.1)
    monkeypatch.setattr("training.statistics.intervals.CHUNK_BYTES", 30_000)
    assert bootstrap(metrics.mean(values)) == pytest.approx(alone, rel=1e-6)
    assert bootstrap(metrics.mean(values), seed=1).low != alone.low


def test_areas_that_are_almost_whole_have_limits_that_are_areas() -> None:
    truth = np.arange(180) % 3 == 0
    scores = truth + RANDOM.normal(size=180) * 0.25
    for metric in (metrics.auroc, metrics.average_precision):
        for each in (metric(scores, truth), metrics.average(metric(scores[:, None], truth[:, None], macro=False))):
            found = bootstrap(each)
            assert 0.9 < found.low < found.value < found.high <= 1.0


def test_wilson_is_the_interval_of_the_textbook() -> None:
    assert wilson(15, 50) == pytest.approx((0.3, 0.1910, 0.4375), abs=1e-4)  # Agresti and Coull 1998's formula by hand
    assert wilson(0, 10).low == 0.0
    assert wilson(10, 10).high == 1.0
    assert math.isnan(wilson(0, 0).value)


def test_a_number_that_nothing_moves_has_no_width() -> None:
    assert bootstrap(metrics.mean(np.ones(30))) == (1.0, 1.0, 1.0)
    calibrated = metrics.calibration_error(np.full(100, 0.5), np.arange(100) % 2 > 0)
    assert bootstrap(calibrated).low == 0.0
    half_right = metrics.calibration_error(np.linspace(0.4, 0.6, 100), np.arange(100) % 2 > 0)
    assert bootstrap(half_right).low == 0.0  # and no tiny number beside it
    assert all(map(math.isnan, bootstrap(metrics.auroc(np.arange(4.0), np.ones(4, bool)))))


def test_one_sample_or_one_group_has_numbers_and_no_error() -> None:
    one = np.ones((1, 1))
    found = bootstrap_together(
        {
            "f1": metrics.class_scores(np.zeros(1, int), np.zeros(1, int), 2),
            "iou": metrics.count_scores(one.astype(int), one.astype(int), one.astype(int)),
            "auroc": metrics.auroc(one, one > 0),
            "average precision": metrics.average_precision(one, one > 0),
            "r2": metrics.r2(one, one),
            "rmse": metrics.rmse(one, one),
            "mae": metrics.mae(one, one),
            "spearman": metrics.spearman(one, one),
            "ece": metrics.calibration_error(one[0], one[0] > 0),
            "perplexity": metrics.perplexity(one[0], np.ones(1, int)),
        }
    )
    known = {"f1": 1.0, "iou": 1.0, "rmse": 0.0, "mae": 0.0, "ece": 0.0, "perplexity": math.e}
    for name, (interval,) in found.items():
        assert interval == pytest.approx([known.get(name, math.nan)] * 3, nan_ok=True), name
    together = bootstrap(metrics.rmse(VALUES, ESTIMATES), np.zeros(N, int))
    assert together.low == pytest.approx(together.high)


def test_shares_of_pixels_vary_as_much_as_whole_images_do() -> None:
    """The quick interval of a selection is that of the bootstrap of images, far wider than if each pixel were a sample."""
    iou = metrics.count_scores(SUPPORT, PREDICTED, CORRECT, metrics.iou, macro=False)
    union = SUPPORT + PREDICTED - CORRECT
    quick = ratio_intervals(CORRECT, union)
    assert all(map(math.isnan, quick[0]))  # neither there nor predicted
    for ours, drawn, pixels in zip(quick[1:], bootstrap_together({"": iou})[""][1:], union.sum(0)[1:], strict=True):
        assert ours == pytest.approx(drawn, abs=0.004)
        of_pixels = wilson(round(ours.value * pixels), int(pixels))
        assert ours.high - ours.low > 2.0 * (of_pixels.high - of_pixels.low)
    assert [math.isnan(each.low) for each in ratio_intervals(np.array([[3, 0]]), np.array([[4, 4]]))] == [True, True]
