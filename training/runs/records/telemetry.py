"""Looks at the engine in a file that stays small: what is older is kept in less detail, and no extreme is lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.runs.records.series import FLUSH_ROW, Rows, SeriesWriter

logger = logging.getLogger(__name__)

MOST_ROWS = 1 << 16
"""Of 60 bytes each; where a file comes to hold them, what is older is thinned."""
_NARROWEST = 2.0**-4
"""Seconds of the first stretch that is tried."""


class TelemetryWriter(SeriesWriter):
    """Appends rows of FLUSH_ROW. ``find_starts`` tells when attempts began: no stretch reaches over that."""

    def __init__(self, path: Path, find_starts: Callable[[], Iterable[float]], most: int = MOST_ROWS) -> None:
        super().__init__(path, FLUSH_ROW)
        self._find_starts, self._most = find_starts, most
        self._next = most

    def append(self, rows: Rows) -> None:
        """Add ``rows`` at the end; now and then the file is made again with fewer rows. Raises OSError."""
        super().append(rows)
        if self.rows >= self._next:
            self._thin()

    def _thin(self) -> None:
        rows = self.read(0, self.rows)
        recent = self._most // 4
        starts = np.array(sorted(self._find_starts()), np.float64)
        kept = np.concatenate([thin(rows[:-recent], recent, starts), rows[-recent:]])
        self._next = len(kept) + recent
        try:
            self.replace(kept)
        except OSError as error:  # a full disk, or a reader that holds the file: it goes on as it is
            logger.info("%s is not made smaller now: %s", self.path, error)
            self._next = self.rows + recent


def thin(rows: Rows, stretches: int, starts: NDArray[np.float64]) -> Rows:
    """``rows`` in at most ``stretches`` stretches of time (and one more for each of ``starts``, the moments at which attempts began),
    two rows for each: the first and the last moment of it with their steps. Of each column they hold the smallest and the largest
    value, the one that came first in front; of the throughput the mean over the steps, so that the time of the steps stays what it
    was."""
    if not len(rows):
        return rows
    times = np.maximum.accumulate(rows["time"])  # a clock may be set back
    attempt = np.searchsorted(starts, rows["time"], side="right")
    width = _NARROWEST
    while True:
        places = np.floor(times / width)
        begins = np.flatnonzero(np.r_[True, (np.diff(places) != 0) | (np.diff(attempt) != 0)])
        if len(begins) <= stretches + len(starts) or width > times[-1] - times[0]:
            break
        width *= 2
    lengths = np.diff(np.r_[begins, len(rows)])
    firsts, lasts = rows[begins].copy(), rows[begins + lengths - 1].copy()
    for name in rows.dtype.names or ():
        if name == "samples_per_second":
            lasts[name] = _mean_rate(rows, begins, lengths)
        elif name not in ("time", "step"):
            firsts[name], lasts[name] = _find_extremes(rows[name], begins, lengths)
    made = np.stack([firsts, lasts], axis=1).reshape(-1)
    return made[np.stack([np.ones(len(begins), bool), lengths > 1], axis=1).reshape(-1)]


def _find_extremes(
    values: NDArray[np.float32], begins: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The smallest and the largest value of each stretch, in the order in which they came; NaN where there is none."""
    numbers = np.isfinite(values)
    low = np.minimum.reduceat(np.where(numbers, values, np.inf), begins)
    high = np.maximum.reduceat(np.where(numbers, values, -np.inf), begins)
    there = np.arange(len(values))
    nowhere = len(values)
    at_low = np.minimum.reduceat(np.where(values == np.repeat(low, lengths), there, nowhere), begins)
    at_high = np.minimum.reduceat(np.where(values == np.repeat(high, lengths), there, nowhere), begins)
    falls = at_high < at_low
    first, last = np.where(falls, high, low), np.where(falls, low, high)
    empty = ~np.isfinite(low)
    return np.where(empty, np.nan, first), np.where(empty, np.nan, last)


def _mean_rate(rows: Rows, begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """Over the steps behind the first row of each stretch: by as much time as its rows tell."""
    rates = rows["samples_per_second"].astype(np.float64)
    steps = np.maximum(np.diff(rows["step"], prepend=rows["step"][:1]), 0).astype(np.float64)
    steps[begins] = 0.0
    known = (rates > 0) & (steps > 0)
    seconds = np.add.reduceat(np.divide(steps, rates, out=np.zeros(len(rows)), where=known), begins)
    made = np.add.reduceat(np.where(known, steps, 0.0), begins)
    newest = rates[begins + lengths - 1]
    return np.divide(made, seconds, out=newest, where=seconds > 0).astype(np.float32)
