"""The exponential moving average of a curve, as TensorBoard draws it, kept up to date as the curve grows."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# One block of the vectorized recursion divides by weight**length: kept far from the end of float64's range, so that even
# losses that explode to 1e200 stay finite on the way.
_SMALLEST_POWER = 1e-60
_LONGEST_BLOCK = 4096


class ExponentialAverage:
    """s_t = w s_{t-1} + (1 - w) y_t from s_0 = 0, shown as s_t / (1 - w^t): without the division the curve would start
    at zero (the bias correction of Kingma and Ba, "Adam", 2015, section 3).

    Samples that are not finite are passed over: they leave the average as it is and come out as NaN.
    """

    def __init__(self, weight: float) -> None:
        if not 0.0 <= weight < 1.0:
            raise ValueError(f"the smoothing weight must be at least 0 and below 1, not {weight}")
        self.weight = weight
        self._average = 0.0  # s_t, not corrected
        self._count = 0  # finite samples so far

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
