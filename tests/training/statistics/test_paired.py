"""Two evaluations of the same samples compared, and the sentence that says what came of it."""

from __future__ import annotations

import numpy as np
import pytest

from training.statistics import metrics
from training.statistics.intervals import Interval, bootstrap
from training.statistics.paired import Comparison, compare, describe_difference, mcnemar


def test_sentences() -> None:
    better = Comparison(Interval(0.008, 0.002, 0.014))
    worse = Comparison(Interval(-0.008, -0.014, -0.002))
    assert describe_difference(better, 1200) == "B is better by 0.8 points (0.2 to 1.4)"
    assert describe_difference(worse, 1200, "adam", "sgd") == "adam is better by 0.8 points (0.2 to 1.4)"
    assert describe_difference(better, 1200, lower_is_better=True) == "A is better by 0.8 points (0.2 to 1.4)"
    lower = Comparison(Interval(-123.4, -200.1, -31.9))
    assert describe_difference(lower, 9, lower_is_better=True, points=False) == "B is better by 123 (32 to 200)"
    small = Comparison(Interval(0.00031, 0.00004, 0.00058))
    assert describe_difference(small, 9, points=False) == "B is better by 0.00031 (0.00004 to 0.00058)"
    either = Comparison(Interval(0.008, -0.002, 0.018))
    assert describe_difference(either, 1200) == "no difference that these 1,200 samples can show"
    assert describe_difference(either, 40, unit="groups") == "no difference that these 40 groups can show"
    assert describe_difference(better._replace(chance=0.06), 30) == "no difference that these 30 samples can show"


def test_mcnemar_is_the_binomial_test_of_those_that_only_one_is_right_about() -> None:
    first, second = np.zeros(100, bool), np.zeros(100, bool)
    first[:20], second[10:18], second[20:22] = True, True, True  # 12 of A alone, 2 of B alone
    assert mcnemar(first, second) == pytest.approx(2 * (1 + 14 + 91) / 2**14)
    assert mcnemar(first, first) == 1.0
    huge = np.arange(100_000) % 2 == 0
    assert mcnemar(huge, ~huge) == 1.0  # 50,000 each


def test_pairing_makes_a_difference_sure_that_two_intervals_alone_would_not() -> None:
    random = np.random.Generator(np.random.PCG64(5))
    targets = random.normal(size=600)
    common = random.normal(size=600)
    first, second = (
        metrics.rmse(targets + common * scale + 0.1 * random.normal(size=600), targets) for scale in (1.0, 0.95)
    )

    found = compare(first, second)

    assert bootstrap(first).low < bootstrap(second).high  # they overlap
    assert found.difference.value == pytest.approx(second.value - first.value)
    assert found.differs
    assert describe_difference(found, 600, points=False, lower_is_better=True).startswith("B is better by 0.0")
    assert not compare(first, first).differs
    with pytest.raises(ValueError, match="only the same samples"):
        compare(first, metrics.mean(np.ones(3)))
