"""A decimated curve shows every spike, keeps every gap, and can be cut."""

import numpy as np
import pytest

from training.runs.pyramid.curve import MinMaxPyramid


def grown(x: np.ndarray, y: np.ndarray, chunk: int) -> MinMaxPyramid:
    pyramid = MinMaxPyramid()
    for start in range(0, len(x), chunk):
        pyramid.append(x[start : start + chunk], y[start : start + chunk])
    return pyramid


@pytest.mark.parametrize(
    ("count", "chunk"),
    [(1, 1), (63, 7), (64, 64), (65, 7), (1_000, 7), (20_000, 7), (20_000, 1_000), (200_003, 1_000)],
)
def test_a_single_spike_is_in_every_view_that_contains_it(count: int, chunk: int) -> None:
    rng = np.random.default_rng(0)
    for where in {0, count // 3, count - 1}:
        x, y = np.arange(count, dtype=float), rng.normal(size=count)
        y[where] = 100.0
        y[(where + 1) % count] = -100.0 if count > 1 else 100.0
        pyramid = grown(x, y, chunk)
        for first, last in [(0, count), (where - 10, where + 10), (where - 3_000, where + 4_000)]:
            _, ys = pyramid.view(first, last, 300)
            assert ys.max() == 100.0
            low = (where + 1) % count
            if count > 1 and first <= low <= last:
                assert ys.min() == -100.0


def test_what_is_shown_are_real_samples_in_order_and_few() -> None:
    rng = np.random.default_rng(1)
    x, y = np.cumsum(rng.random(100_000)), rng.normal(size=100_000)
    xs, ys = grown(x, y, 999).view(x[1_000], x[90_000], 500)
    assert (np.diff(xs) > 0).all()
    assert len(xs) <= 2 * 500 + 8
    assert np.array_equal(ys, y[np.searchsorted(x, xs)])
    assert xs[0] <= x[1_000]
    assert xs[-1] >= x[90_000]


def test_missing_values_never_hide_a_neighbor() -> None:
    y = np.random.default_rng(2).normal(size=300_000)
    y[::3] = np.nan
    y[1::7] = np.inf
    y[150_001] = 50.0
    y[200_001] = -50.0
    _, ys = grown(np.arange(300_000.0), y, 4_096).view(0, 300_000, 400)
    assert np.nanmax(ys) == 50.0
    assert np.nanmin(ys) == -50.0


@pytest.mark.parametrize("count", [500, 10_000, 1_000_000])
def test_a_wide_gap_stays_a_gap(count: int) -> None:
    y = np.ones(count)
    y[count // 2 : count // 2 + count // 10] = np.nan
    xs, ys = grown(np.arange(float(count)), y, count).view(0, count, 200)
    inside = (xs > count // 2 + count * 0.03) & (xs < count // 2 + count * 0.07)
    assert np.isnan(ys[inside]).all()
    assert inside.any()
    assert not np.isnan(ys[xs < count // 2 - 1]).any()


def test_cutting_forgets_what_lay_beyond_and_growing_again_is_as_if_it_had_never_been() -> None:
    rng = np.random.default_rng(3)
    x, y = np.arange(50_000.0), rng.normal(size=50_000)
    y[30_000] = 1_000.0
    pyramid = grown(x, y, 512)
    pyramid.truncate(20_000.0)
    assert len(pyramid) == 20_001
    assert pyramid.x[-1] == 20_000.0
    again = rng.normal(size=40_000)
    pyramid.append(np.arange(20_001.0, 60_001.0), again)
    fresh = grown(pyramid.x.copy(), pyramid.y.copy(), 10_000)
    for window in [(0, 60_000), (19_000, 31_000), (29_990, 30_010)]:
        for mine, theirs in zip(pyramid.view(*window, 300), fresh.view(*window, 300), strict=True):
            assert np.array_equal(mine, theirs)
    assert pyramid.view(0, 60_000, 300)[1].max() < 1_000.0


def test_a_series_that_goes_back_is_refused_and_left_as_it_was() -> None:
    pyramid = MinMaxPyramid()
    pyramid.append([1, 2, 3], [1, 2, 3])
    with pytest.raises(ValueError, match="truncate"):
        pyramid.append(2, 0)
    with pytest.raises(ValueError, match="one length"):
        pyramid.append([4, 5], [1])
    assert len(pyramid) == 3


def test_an_empty_series_has_an_empty_view() -> None:
    xs, ys = MinMaxPyramid().view(0, 1, 100)
    assert len(xs) == len(ys) == 0
