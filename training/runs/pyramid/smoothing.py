"""Smoothed curves: computed on all samples, whatever part of them is shown, and kept so that any part can be drawn at once.

Two ways. The exponential moving average as TensorBoard draws it lags behind; the centered mean does not, and is not known until
what follows is. At one weight both are equally calm: their variance on independent samples is the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from training.runs.pyramid.curve import Pyramid
from training.runs.pyramid.levels import AT_ONCE, BUCKET, Floats, GrowingArray, Indices

# One block of the vectorized recursion divides by weight**length: kept far from the end of float64's range, so that even
# losses that explode to 1e200 stay finite on the way.
_SMALLEST_POWER = 1e-60
_LONGEST_BLOCK = 4096


class ExponentialAverage:
    """s_t = w s_{t-1} + (1 - w) y_t from s_0 = 0, shown as s_t / (1 - w^t): without the division the curve would start
    at zero (the bias correction of Kingma and Ba, "Adam", 2015, section 3).

    Samples that are not finite are passed over: they leave the average as it is and come out as NaN.
    """

    def __init__(self, weight: float, average: float = 0.0, count: int = 0) -> None:
        """``average`` and ``count``: s_t, not corrected, after so many finite samples, where it goes on."""
        if not 0.0 <= weight < 1.0:
            raise ValueError(f"the smoothing weight must be at least 0 and below 1, not {weight}")
        self.weight, self._average, self._count = weight, average, count

    def append(self, y: ArrayLike) -> Floats:
        """The smoothed values of the next samples, as long as `y`."""
        values = np.atleast_1d(np.asarray(y, dtype=np.float64))
        if self.weight == 0.0:
            return np.where(np.isfinite(values), values, np.nan)
        finite = np.isfinite(values)
        smoothed = np.full(values.shape, np.nan)
        smoothed[finite] = self._smooth(values[finite])
        return smoothed

    def _smooth(self, values: Floats) -> Floats:
        """The recursion over finite values, block by block.

        Inside a block s_k = w^k (s + (1 - w) sum_j y_j w^-j), j = 1..k: a cumulative sum.
        """
        block = min(_LONGEST_BLOCK, max(1, int(np.log(_SMALLEST_POWER) / np.log(self.weight))))
        powers = self.weight ** np.arange(1, block + 1)
        averages = np.empty_like(values)
        for start in range(0, len(values), block):
            part = values[start : start + block]
            decay = powers[: len(part)]
            sums = np.cumsum(part / decay)
            sums *= 1.0 - self.weight
            sums += self._average
            sums *= decay
            averages[start : start + block] = sums
            self._average = float(sums[-1])
        counts = self._count + np.arange(1, len(values) + 1)
        self._count += len(values)
        return averages / -np.expm1(counts * np.log(self.weight))


class Smoother(ABC):
    """The smoothed line of one curve. Of each full bucket it keeps what is needed to know the line there; inside a bucket it is
    computed when it is looked at, from all samples that count there: the same numbers whatever is looked at."""

    def __init__(self, weight: float) -> None:
        """``weight`` in (0, 1)."""
        if not 0.0 < weight < 1.0:
            raise ValueError(f"the smoothing weight must be above 0 and below 1, not {weight}")
        self.weight = weight

    @abstractmethod
    def grow(self, curve: Pyramid) -> None:
        """Take up what ``curve`` has grown by."""

    @abstractmethod
    def cut(self, size: int) -> None:
        """Keep what the first ``size`` samples say."""

    @abstractmethod
    def compute(self, curve: Pyramid, first: int, stop: int) -> Floats:
        """The smoothed values [first, stop); NaN where there is no sample."""

    @abstractmethod
    def _ends(self, curve: Pyramid) -> Floats:
        """The smoothed value at the last sample of each full bucket, as many as are known; NaN after a bucket of gaps."""

    def view(self, curve: Pyramid, x0: float, x1: float, points: int) -> tuple[Floats, Floats]:
        """At most about `points` + 2 samples of the line between x0 and x1.

        An average has no spikes to lose, so every 2^k-th sample will do: always the same ones, or the line would
        shimmer while it grows.
        """
        first, stop = curve.span(x0, x1)
        stride = 1
        while stop - first > points * stride:
            stride *= 2
        if stop <= first:
            return np.empty(0), np.empty(0)
        if stride < BUCKET:
            first -= first % stride
            kept = np.arange(first, stop, stride)
            kept = kept if kept[-1] == stop - 1 else np.append(kept, stop - 1)
            values = self.compute(curve, first, stop)[kept - first]
        else:
            kept, values = self._thin(curve, first, stop, stride)
        gaps = np.isnan(values)
        if stride > 1:
            # One missing sample is no gap at this resolution; only a run of them breaks the line.
            there = ~gaps | np.concatenate([gaps[:1], gaps[:-1]])
            kept, values = kept[there], values[there]
        return curve.x[kept], values

    def _thin(self, curve: Pyramid, first: int, stop: int, stride: int) -> tuple[Indices, Floats]:
        """Every ``stride``-th sample, and the two at the ends."""
        ends = self._ends(curve)
        step = stride // BUCKET
        at = (
            np.arange(-(-(first + 1) // stride), stop // stride + 1) * step - 1
        )  # whole strides from the first sample on
        inside = at[(at >= 0) & (at < len(ends))]
        rest = (
            stop - 1 - np.arange(0, stop - 1 - int((inside[-1] + 1) * BUCKET if len(inside) else first), stride)[::-1]
        )
        begin = int(rest[0]) if len(rest) else stop - 1
        tail = self.compute(curve, begin, stop)
        rest = rest if len(rest) else np.array([stop - 1])
        indices = np.concatenate([[first], inside * BUCKET + BUCKET - 1, rest]).astype(np.int64)
        values = np.concatenate([self.compute(curve, first, first + 1), ends[inside], tail[rest - begin]])
        once = np.diff(indices, prepend=-1) > 0
        return indices[once], values[once]


class ExponentialSmoother(Smoother):
    """``ExponentialAverage`` of a curve: after each full bucket it keeps the average and how many finite samples there were."""

    def __init__(self, weight: float) -> None:
        super().__init__(weight)
        self._averages, self._counts = GrowingArray(np.float64), GrowingArray(np.int64)

    def grow(self, curve: Pyramid) -> None:
        powers = self.weight ** np.arange(BUCKET + 1)
        while (done := self._counts.size) < len(curve) // BUCKET:
            stop = min(len(curve) // BUCKET, done + AT_ONCE)
            rows = curve.read(done * BUCKET, stop * BUCKET).reshape(-1, BUCKET).astype(np.float64)
            finite = np.isfinite(rows)
            counts = finite.sum(axis=1)
            if counts.sum() == rows.size:
                added = rows @ powers[BUCKET - 1 :: -1]
            else:
                later = counts[:, None] - finite.cumsum(axis=1)  # finite samples of the bucket that come after each
                added = (np.where(finite, rows, 0.0) * np.where(finite, powers[later], 0.0)).sum(axis=1)
            average = float(self._averages.values[-1]) if done else 0.0
            averages = []
            for decay, more in zip(powers[counts].tolist(), ((1.0 - self.weight) * added).tolist(), strict=True):
                average = decay * average + more
                averages.append(average)
            before = int(self._counts.values[-1]) if done else 0
            self._averages.extend(np.array(averages))
            self._counts.extend(before + np.cumsum(counts))

    def cut(self, size: int) -> None:
        self._averages.cut(size // BUCKET)
        self._counts.cut(size // BUCKET)

    def compute(self, curve: Pyramid, first: int, stop: int) -> Floats:
        bucket = min(first // BUCKET, self._counts.size)
        known = (float(self._averages.values[bucket - 1]), int(self._counts.values[bucket - 1])) if bucket else (0.0, 0)
        smoothed = ExponentialAverage(self.weight, *known).append(curve.read(bucket * BUCKET, stop))
        return smoothed[first - bucket * BUCKET :]

    def _ends(self, curve: Pyramid) -> Floats:
        counts = self._counts.values
        with np.errstate(invalid="ignore", divide="ignore"):
            ends: Floats = self._averages.values / -np.expm1(counts * np.log(self.weight))
        ends[np.diff(counts, prepend=0) == 0] = np.nan
        return ends


class CenteredSmoother(Smoother):
    """The mean of the samples within ``half`` of each, fewer at the two ends. It lags behind nothing.

    Its window of (1 + w) / (1 - w) samples has the variance of the exponential average of weight w, which is that share of a
    single sample's (Brown, "Smoothing, Forecasting and Prediction of Discrete Time Series", 1963).
    """

    def __init__(self, weight: float) -> None:
        super().__init__(weight)
        self.half = max(round(weight / (1.0 - weight)), 1)
        self._known = GrowingArray(np.float64)  # at the end of each bucket that has all of its window

    def grow(self, curve: Pyramid) -> None:
        whole = max(len(curve) - self.half, 0) // BUCKET
        while (done := self._known.size) < whole:
            stop = min(whole, done + AT_ONCE)
            values = self.compute(curve, done * BUCKET, stop * BUCKET).reshape(-1, BUCKET)
            self._known.extend(np.where(np.isnan(values).all(axis=1), np.nan, _last_finite(values)))

    def cut(self, size: int) -> None:
        self._known.cut(max(size - self.half, 0) // BUCKET)

    def compute(self, curve: Pyramid, first: int, stop: int) -> Floats:
        begin, end = max(first - self.half, 0), min(stop + self.half, len(curve))
        values = curve.read(begin, end).astype(np.float64)
        there = np.isfinite(values)
        missing = self.half - (first - begin), self.half - (end - stop)
        sums = _slide(np.pad(np.where(there, values, 0.0), missing), 2 * self.half + 1)
        counts = _slide(np.pad(there.astype(np.float64), missing), 2 * self.half + 1)
        means = sums / np.maximum(counts, 1.0)
        means[~there[first - begin : len(there) - (end - stop)]] = np.nan
        return means

    def _ends(self, curve: Pyramid) -> Floats:
        return self._known.values


def _last_finite(rows: Floats) -> Floats:
    last = rows.shape[1] - 1 - np.isfinite(rows)[:, ::-1].argmax(axis=1)
    found: Floats = rows[np.arange(len(rows)), last]
    return found


def _slide(values: Floats, width: int) -> Floats:
    """The sums of all windows of ``width`` values: each is the end of one block and the start of the next, so that nothing is
    subtracted, and a loss that explodes does no harm to what comes after it (van Herk's filter, with sums for maxima)."""
    windows = len(values) - width + 1
    blocks = np.pad(values, (0, -len(values) % width)).reshape(-1, width)
    starts, ends = blocks.cumsum(axis=1).ravel(), blocks[:, ::-1].cumsum(axis=1)[:, ::-1].ravel()
    at = np.arange(windows)
    whole = at % width == 0  # such a window is one block
    sums: Floats = ends[at] + np.where(whole, 0.0, starts[np.minimum(at + width - 1, len(starts) - 1)])
    return sums


def make_smoother(weight: float, *, centered: bool = False) -> Smoother | None:
    """The smoother of a weight; None for 0, which is no smoothing."""
    if weight == 0.0:
        return None
    return CenteredSmoother(weight) if centered else ExponentialSmoother(weight)
