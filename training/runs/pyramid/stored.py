"""The curves in a file of a run: as many as it has columns, looked at without reading all of it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from training.errors import InputError
from training.runs.links import MOST_SERIES
from training.runs.pyramid.curve import StoredPyramid
from training.runs.pyramid.kept import STEP_CURVES, keep_levels, read_levels
from training.runs.pyramid.levels import Floats
from training.runs.records.columns import read_columns_header
from training.runs.records.series import STEP_ROW, Rows, SeriesWriter, is_series, read_range
from training.system.untrusted import UnfitFile, open_file

_MOST_KEPT = 1 << 16  # rows: what is drawn is shorter, what is smoothed is longer and read once


class StoredSeries:
    """The file ``path``: a row for each step, or for some steps where it names its columns. It may be growing.

    ``names`` are those of its curves, ``steps`` the step of each row. Raises InputError for a file that is no series.
    """

    def __init__(self, path: Path, *, keep: bool = False) -> None:
        """``keep``: write the pyramid beside the file where it is missing; never while somebody writes the series."""
        self.path = path
        self._header, self._row, self.names = _find_layout(path)
        self._cache: tuple[tuple[int, int, Rows], ...] = ()
        rows = self._count()
        self._levels, whole = read_levels(path, len(self.names), self._read_rows, rows)
        self.steps = self._read_steps(0, rows)
        if keep and not whole:
            keep_levels(path, self._levels)

    def grow(self) -> int:
        """Take up what the file has grown by; returns how many rows that is, below 0 for a file that was cut and must be opened
        again."""
        rows, before = self._count(), len(self.steps)
        if rows > before:
            self.steps = np.concatenate([self.steps, self._read_steps(before, rows)])
        return rows - before

    def curve(self, name: str, x: Floats) -> StoredPyramid:
        """One of its curves, over a position for each of its rows."""
        column = self.names.index(name)
        return StoredPyramid(x, lambda first, stop: self._read_column(first, stop, column), self._levels[column])

    def _read_column(self, first: int, stop: int, column: int) -> NDArray[np.floating[Any]]:
        """The numbers [first, stop). What was read last, at the two ends of a view, is kept: several charts show the same stretch."""
        kept = next(((begin, rows) for begin, end, rows in self._cache if begin <= first <= stop <= end), None)
        begin, rows = kept or (first, self._read_rows(first, stop))
        if kept is None and stop - first <= _MOST_KEPT:
            self._cache = ((first, stop, rows), *self._cache[:1])
        rows = rows[first - begin : stop - begin]
        values: NDArray[np.floating[Any]] = (
            rows[STEP_CURVES[column]] if self._row == STEP_ROW else rows["values"][:, column]
        )
        return values

    def _count(self) -> int:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return 0
        return max(size - self._header, 0) // self._row.itemsize

    def _read_rows(self, first: int, stop: int) -> Rows:
        try:
            with open_file(self.path, MOST_SERIES) as stream:
                return read_range(stream, self._header, self._row, first, stop)
        except FileNotFoundError:  # deleted while it is shown
            return read_range(io.BytesIO(), 0, self._row, 0, stop - first)

    def _read_steps(self, first: int, stop: int) -> Floats:
        if self._row == STEP_ROW:  # a row a step, counted from 1
            return _count_steps(first + 1, stop + 1)
        ends = [int(self._read_rows(at, at + 1)["step"][0]) for at in (first, stop - 1)] if stop > first else [0, -1]
        if ends[1] - ends[0] == stop - first - 1:  # steps rise: none is missing, and a million need not be read
            return _count_steps(ends[0], ends[1] + 1)
        return self._read_rows(first, stop)["step"].astype(np.float64)


_counted: WeakValueDictionary[int, Floats] = WeakValueDictionary()


def _count_steps(first: int, stop: int) -> Floats:
    """The numbers [first, stop), from 0 on: one array for all series that are of about the same length, never to be written to."""
    size = 1 << stop.bit_length()
    numbers = _counted.get(size)
    if numbers is None:
        numbers = _counted[size] = np.arange(size, dtype=np.float64)
        numbers.flags.writeable = False
    return numbers[first:stop]


def _find_layout(path: Path) -> tuple[int, np.dtype[np.void], tuple[str, ...]]:
    """The bytes before the first row, a row, and the names of its curves."""
    if (header := read_columns_header(path)) is not None:
        return header.size, header.columns.row, header.columns.names
    try:
        fits = path.stat().st_size < SeriesWriter.HEADER or is_series(path, STEP_ROW)
    except UnfitFile as error:
        raise InputError(f"{path}: {error.strerror}, so it is no series of a run.") from error
    if not fits:
        raise InputError(f"{path}: is not a series of this program; put the run's own file back.")
    return SeriesWriter.HEADER, STEP_ROW, STEP_CURVES
