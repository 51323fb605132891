"""Rows over steps thinned out to what a screen has room for, without losing a spike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Steps = NDArray[np.int64]


class HeatBins:
    """Keeps at most ``most`` bins of as many rows each, and of each the largest values; each row is looked at once."""

    def __init__(self, width: int, most: int = 400) -> None:
        """``width``: numbers of a row."""
        self._most = most
        self._per, self._count = 1, 0  # rows to a bin, and all
        self.first: Steps = np.empty(0, np.int64)
        """The first step in each bin."""
        self.last: Steps = np.empty(0, np.int64)
        self.values: Floats = np.empty((0, width), np.float32)
        """(bins, width); NaN only where no row had a number."""

    def add(self, steps: Steps, values: Floats) -> None:
        """Take up more rows: ``steps`` (rows,), ``values`` (rows, width)."""
        filled = min(-self._count % self._per, len(steps))  # what the last bin still has room for
        if filled:
            self.values[-1] = np.fmax(self.values[-1], np.fmax.reduce(values[:filled]))
            self.last[-1] = steps[filled - 1]
        rest, more = steps[filled:], values[filled:]
        if len(rest):
            starts = np.arange(0, len(rest), self._per)
            ends = np.minimum(starts + self._per, len(rest)) - 1
            self.first, self.last = np.append(self.first, rest[starts]), np.append(self.last, rest[ends])
            self.values = np.concatenate([self.values, np.fmax.reduceat(more, starts)])
        self._count += len(steps)
        while len(self.first) > self._most:
            self._halve()

    def _halve(self) -> None:
        self._per *= 2
        starts = np.arange(0, len(self.first), 2)
        self.last = self.last[np.minimum(starts + 1, len(self.last) - 1)]
        self.first = self.first[starts]
        self.values = np.fmax.reduceat(self.values, starts)
