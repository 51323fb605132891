"""Curves, thresholds, calibration and its temperature."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torchmetrics.functional.classification as reference

from training.statistics.calibration import Unfittable, fit_temperature, gather_rest, reliability
from training.statistics.curves import area, precision_recall, rank_scores, roc, stand_at
from training.statistics.intervals import mean_interval, wilson
from training.statistics.metrics import calibration_error

RANDOM = np.random.Generator(np.random.PCG64(3))
TRUTH = RANDOM.random(5000) < 0.3
SCORES = (1.0 / (1.0 + np.exp(-RANDOM.normal(size=5000) - TRUTH))).round(3)


def test_the_interval_of_the_area_holds_the_truth() -> None:
    random = np.random.default_rng(1)
    truth, positive = 0.5 * math.erfc(-0.5), np.arange(300) < 60  # of normal scores, one apart

    def hold() -> bool:
        _, low, high = area(rank_scores(random.normal(size=300) + positive, positive))
        return low <= truth <= high

    assert 0.92 <= np.mean([hold() for _ in range(400)]) <= 0.98
    told_apart = area(rank_scores(np.arange(300.0), np.arange(300) > 200))
    assert told_apart.value == 1.0
    assert math.isnan(told_apart.low)


def test_curves_are_those_of_torchmetrics() -> None:
    ranking = rank_scores(SCORES, TRUTH)
    scores, truth = torch.tensor(SCORES), torch.tensor(TRUTH).long()

    whole = roc(ranking, points=10**6)
    x, y, _ = reference.binary_roc(scores, truth)
    np.testing.assert_allclose(whole.x, x.numpy(), atol=1e-6)
    np.testing.assert_allclose(whole.y, y.numpy(), atol=1e-6)
    assert area(ranking).value == pytest.approx(reference.binary_auroc(scores, truth).item(), abs=1e-6)
    precisions, recalls, _ = reference.binary_precision_recall_curve(scores, truth)
    whole = precision_recall(ranking, points=10**6)
    np.testing.assert_allclose(whole.x[1:], recalls.numpy()[-2::-1], atol=1e-6)
    np.testing.assert_allclose(whole.y[1:], precisions.numpy()[-2::-1], atol=1e-6)


def test_a_thinned_curve_keeps_its_ends_and_its_shape() -> None:
    ranking = rank_scores(SCORES, TRUTH)
    whole, some = roc(ranking, points=10**6), roc(ranking, points=100)

    assert len(some.x) <= 100 < len(whole.x)
    assert (some.x[0], some.y[0], some.x[-1], some.y[-1]) == (0.0, 0.0, 1.0, 1.0)
    assert np.abs(np.interp(whole.x, some.x, some.y) - whole.y).max() < 0.03


def test_a_threshold_stands_where_its_counts_are() -> None:
    ranking = rank_scores(SCORES, TRUTH)
    for threshold in (0.0, 0.4, 0.4321, float(SCORES.max()), 1.1):
        point, called = stand_at(ranking, threshold), threshold <= SCORES
        counts = (called & TRUTH, called & ~TRUTH, ~called & TRUTH, ~called & ~TRUTH)
        assert (point.hits, point.alarms, point.misses, point.rejections) == tuple(int(each.sum()) for each in counts)
        assert point.recall == wilson(point.hits, int(TRUTH.sum()))
        wrong = point.alarms + point.misses
        assert point.f1.value == pytest.approx(2 * point.hits / (2 * point.hits + wrong))
        overlap = wilson(point.hits, point.hits + wrong)  # F1 grows with it, and so do its limits
        assert point.f1.low / (2 - point.f1.low) == pytest.approx(overlap.low)
        assert point.f1.high / (2 - point.f1.high) == pytest.approx(overlap.high)
    assert math.isnan(point.precision.value)
    assert len(roc(rank_scores(SCORES, np.ones(5000, bool))).x) == 0


def test_a_mean_has_the_interval_of_student() -> None:
    for free, quantile in ((9, 2.262157), (29, 2.045230), (999, 1.962341)):  # of every table of t
        values = RANDOM.normal(3.0, 2.0, free + 1)
        found = mean_interval(len(values), values.sum(), np.square(values).sum())
        half = quantile * values.std(ddof=1) / math.sqrt(len(values))
        assert found.value == pytest.approx(values.mean())
        assert (found.high - found.value, found.value - found.low) == pytest.approx((half, half), rel=2e-4)


def test_bins_hold_all_samples_and_their_gaps_are_the_error() -> None:
    for equal_mass in (False, True):
        found = reliability(SCORES, TRUTH, equal_mass=equal_mass)
        counts = [each.samples for each in found.bins]
        gaps = [abs(each.accuracy.value - each.confidence) * each.samples for each in found.bins if each.samples]
        assert sum(counts) == 5000
        nothing = reliability(SCORES[:0], TRUTH[:0], equal_mass=equal_mass)
        assert math.isnan(nothing.error)
        assert not any(each.samples for each in nothing.bins)
        assert found.error == pytest.approx(sum(gaps) / 5000)
        assert found.error == pytest.approx(calibration_error(SCORES, TRUTH, equal_mass=equal_mass).value)
        assert not equal_mass or max(counts) - min(counts) < 30  # equal scores stay together
    assert reliability(np.array([0.0, 1.0]), np.array([False, True])).bins[-1].samples == 1


def test_the_temperature_that_made_the_logits_too_sure_is_found() -> None:
    calibrated = 2.0 * RANDOM.normal(size=(20_000, 30))
    chances = np.exp(calibrated) / np.exp(calibrated).sum(1, keepdims=True)
    targets = (chances.cumsum(1) > RANDOM.random((20_000, 1))).argmax(1)
    logits = calibrated * 2.5

    fitted = fit_temperature(logits, targets)

    def loss(temperature: float) -> float:
        scaled = torch.tensor(logits) / temperature
        return torch.nn.functional.cross_entropy(scaled, torch.tensor(targets)).item()

    assert fitted == pytest.approx(2.5, rel=0.05)
    assert loss(fitted) < min(loss(fitted * 1.01), loss(fitted / 1.01))
    order = np.argsort(-logits, axis=1)
    kept = np.take_along_axis(logits, order, 1)[:, :20]
    place = np.minimum((order == targets[:, None]).argmax(1), 20)
    log_sum = np.log(np.exp(logits).sum(1))
    assert fit_temperature(*reversed_pair(kept, log_sum, place)) == pytest.approx(fitted, rel=0.02)
    for logits, targets, why in (
        (np.eye(3) * 5.0, np.arange(3), "all 3 answers are right"),
        (np.array([[0.0, 9.0], [0.0, -9.0]]), np.array([0, 1]), "above 100"),  # wrong and sure
        (np.array([[0.0, 1e-3], [1e-5, 0.0]]), np.array([1, 1]), "below 0.01"),
    ):
        with pytest.raises(Unfittable, match=why):
            fit_temperature(logits, targets)


def reversed_pair(
    kept: np.ndarray, log_sum: np.ndarray, place: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What ``fit_temperature`` takes where 20 of 30 logits were kept."""
    logits, multiplicity = gather_rest(kept, log_sum, 30)
    return logits, place, multiplicity
