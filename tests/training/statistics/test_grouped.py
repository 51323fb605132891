"""Quick intervals under groups: ten copies of a sample tell as much as one of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from training.statistics import grouped
from training.statistics.calibration import reliability
from training.statistics.curves import area, rank_scores, stand_at
from training.statistics.intervals import bootstrap, mean_interval, wilson
from training.statistics.metrics import auroc, ratio

RANDOM = np.random.default_rng(5)
N, COPIES = 400, 10
SCORES = RANDOM.random(N)
TRUTH = RANDOM.random(N) < SCORES
GROUPS = np.repeat(RANDOM.permutation(N), COPIES)
MANY, TRUE = np.repeat(SCORES, COPIES), np.repeat(TRUTH, COPIES)
RANKED = grouped.Ranked(rank_scores(MANY, TRUE), MANY, TRUE, GROUPS)


def test_copies_of_samples_give_the_intervals_of_the_samples() -> None:
    values = np.repeat(RANDOM.normal(3.0, 1.0, (N, 1)), COPIES, axis=0)
    once = values[::COPIES]
    sums = [grouped.sum_columns(each, GROUPS) for each in (values, np.ones_like(values), np.square(values))]
    (found,) = grouped.mean_intervals(*sums)
    assert found == pytest.approx(mean_interval(N, float(once.sum()), float(np.square(once).sum())))
    point, single = grouped.find_point(RANKED, 0.4), stand_at(rank_scores(SCORES, TRUTH), 0.4)
    assert point.hits == COPIES * single.hits
    for name in ("precision", "recall", "false_positive_rate", "f1"):
        ours, expected = getattr(point, name), getattr(single, name)
        assert ours.value == pytest.approx(expected.value)
        assert (ours.low, ours.high) == pytest.approx((expected.low, expected.high), abs=0.002), name
    of_copies = grouped.find_area(RANKED)
    assert of_copies == pytest.approx(area(rank_scores(SCORES, TRUTH)), abs=0.001)
    assert of_copies == pytest.approx(bootstrap(auroc(MANY, TRUE), GROUPS), abs=0.004)
    for bins, expected in zip(
        reliability(MANY, TRUE, groups=GROUPS).bins, reliability(SCORES, TRUTH).bins, strict=True
    ):
        assert (bins.accuracy.low, bins.accuracy.high) == pytest.approx(
            (expected.accuracy.low, expected.accuracy.high), abs=0.04
        )


def test_groups_of_any_size_vary_as_their_bootstrap_does() -> None:
    groups = np.repeat(np.arange(300), RANDOM.integers(1, 20, 300))
    right = RANDOM.random(len(groups)) < RANDOM.beta(4.0, 2.0, 300)[groups]
    counted = RANDOM.random(len(groups)) < 0.7
    cells = np.where(counted, 0, -1)
    (quick,) = grouped.rate_intervals(*(grouped.count_cells(cells, 1, groups, each) for each in (right, None)))
    drawn = bootstrap(ratio(right & counted, counted), groups)
    assert quick == pytest.approx(drawn, abs=0.006)
    alone = wilson(int((right & counted).sum()), int(counted.sum()))
    assert quick.high - quick.low > 1.5 * (alone.high - alone.low)


def test_what_groups_do_not_tell_is_not_made_up() -> None:
    all_right = grouped.rate_intervals(np.full((12, 1), 5), np.full((12, 1), 5))
    assert all_right == [wilson(12, 12)]  # not as sure as of sixty samples
    assert grouped.rate_intervals(np.array([[4]]), np.array([[5]]))[0].low < 0.3
    assert math.isnan(grouped.rate_intervals(np.zeros((3, 1)), np.zeros((3, 1)))[0].value)
    (single,) = grouped.mean_intervals(np.array([[6.0]]), np.array([[3]]), np.array([[14.0]]))
    assert single == pytest.approx((2.0, math.nan, math.nan), nan_ok=True)
    assert grouped.rate_intervals(np.array([3]), np.array([4])) == [wilson(3, 4)]


def test_few_groups_of_unequal_sizes_hold_the_truth_in_95_of_100_sets() -> None:
    draw, sets = np.random.default_rng(8), 1000
    groups = np.repeat(np.arange(20), 2 ** draw.integers(0, 7, 20))
    shares = draw.beta(1.2, 1.8, (20, sets))[groups]  # 0.4 on average, alike within a group
    right = draw.random(shares.shape) < shares
    values = draw.normal(3.0, 1.0, (20, sets))[groups] + draw.normal(0.0, 1.0, right.shape)
    counts = grouped.sum_columns(np.ones_like(values), groups)
    rates = grouped.rate_intervals(grouped.sum_columns(right, groups), counts)
    sums = [grouped.sum_columns(each, groups) for each in (values, np.square(values))]
    for truth, found in ((0.4, rates), (3.0, grouped.mean_intervals(sums[0], counts, sums[1]))):
        assert 0.92 <= np.mean([each.low <= truth <= each.high for each in found]) <= 0.98
