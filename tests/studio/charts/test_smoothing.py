"""The fast average equals the recursion written down naively, however the samples arrive."""

import numpy as np
import pytest

from studio.charts.series import Series
from training.runs.pyramid.curve import MinMaxPyramid
from training.runs.pyramid.smoothing import ExponentialAverage, make_smoother


def naive(y: np.ndarray, weight: float) -> np.ndarray:
    average, count, out = 0.0, 0, np.full(len(y), np.nan)
    for at, value in enumerate(y):
        if np.isfinite(value):
            average = weight * average + (1 - weight) * value
            count += 1
            out[at] = average / (1 - weight**count)
    return out


@pytest.mark.parametrize(
    ("weight", "chunk"), [(0.0, 13), (0.05, 1), (0.6, 13), (0.9, 20_000), (0.99, 1), (0.999, 13), (0.999, 20_000)]
)
def test_it_equals_the_naive_loop(weight: float, chunk: int) -> None:
    y = np.random.default_rng(0).normal(size=6_000) + 4
    y[[5, 6, 7, 100]] = np.nan
    y[200] = np.inf
    average = ExponentialAverage(weight)
    smoothed = np.concatenate([average.append(y[start : start + chunk]) for start in range(0, len(y), chunk)])
    np.testing.assert_allclose(smoothed, naive(y, weight), rtol=1e-9)


def test_a_constant_stays_that_constant_from_the_first_sample_on() -> None:
    np.testing.assert_allclose(ExponentialAverage(0.99).append(np.full(500, 3.0)), 3.0, rtol=1e-10)


def test_an_exploding_loss_does_not_poison_what_follows() -> None:
    y = np.concatenate([np.ones(50), np.full(5, 1e200), np.ones(20_000)])
    smoothed = ExponentialAverage(0.9).append(y)
    assert np.isfinite(smoothed).all()
    assert smoothed[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("weight", [-0.1, 1.0, 2.0])
def test_a_weight_outside_its_range_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="weight"):
        ExponentialAverage(weight)


def test_a_cut_series_is_smoothed_as_if_it_had_never_been_longer() -> None:
    rng = np.random.default_rng(1)
    x, y, later = np.arange(400.0), rng.normal(size=400), rng.normal(size=100)
    cut, short = Series(), Series()
    for series in (cut, short):
        series.set_smoothing(0.9)
    cut.append(x, y)
    cut.truncate(199)
    short.append(x[:200], y[:200])
    for series in (cut, short):
        series.append(np.arange(200.0, 300.0), later)
    mine, theirs = cut.smooth_view(0, 300, 1_000), short.smooth_view(0, 300, 1_000)
    assert mine is not None
    assert theirs is not None
    np.testing.assert_array_equal(mine[1], theirs[1])


def centered_naive(y: np.ndarray, half: int) -> np.ndarray:
    out = np.full(len(y), np.nan)
    for at in np.flatnonzero(np.isfinite(y)):
        near = y[max(at - half, 0) : at + half + 1]
        out[at] = near[np.isfinite(near)].mean()
    return out


@pytest.mark.parametrize(("weight", "chunk"), [(0.5, 997), (0.9, 50_000), (0.999, 997)])
@pytest.mark.parametrize("centered", [False, True])
def test_every_view_shows_the_same_line_that_all_samples_make(weight: float, centered: bool, chunk: int) -> None:
    y = np.random.default_rng(0).normal(size=40_000) + 4
    y[[5, 6, 7, 100]] = np.nan
    y[9_000:9_300], y[20_000] = np.nan, np.inf
    y[30_000] = 1e25  # a mean that subtracts sums would lose all that follows
    expected = centered_naive(y, round(weight / (1 - weight))) if centered else naive(y, weight)
    curve, smoother = MinMaxPyramid(), make_smoother(weight, centered=centered)
    assert smoother is not None
    for start in range(0, len(y), chunk):
        curve.append(np.arange(start, min(start + chunk, len(y))), y[start : start + chunk])
        smoother.grow(curve)
    for first, last, points in [
        (0, 40_000, 200),
        (0, 40_000, 100_000),
        (8_000, 12_345, 50),
        (29_990, 40_000, 60),
        (38_500, 39_999, 10),
    ]:
        xs, ys = smoother.view(curve, first, last, points)
        assert len(xs) <= points + 20
        there = np.isfinite(ys) & np.isfinite(expected[xs.astype(int)])
        assert there.sum() > 0.7 * len(xs)
        np.testing.assert_allclose(ys[there], expected[xs.astype(int)][there], rtol=1e-9)
        if points > 1_000:
            np.testing.assert_array_equal(np.isnan(ys), np.isnan(expected))


def test_a_smooth_line_breaks_at_a_real_gap_only() -> None:
    series = Series()
    series.set_smoothing(0.5)
    y = np.ones(64_000)
    y[32_000] = np.nan
    y[40_000:50_000] = np.nan
    series.append(np.arange(64_000.0), y)
    view = series.smooth_view(0, 64_000, 200)
    assert view is not None
    xs, ys = view
    assert not np.isnan(ys[xs < 39_000]).any()
    assert np.isnan(ys[(xs > 41_000) & (xs < 49_000)]).all()
