"""The lowest level of the pyramids of a series, kept in a file beside it: ``series.pyramid`` of ``series.bin``.

A row for each full bucket of 64 rows of the series: of each column the smallest and the largest value and where in the bucket they
stand, 10 bytes a column, which is 0.16 bytes a number, and a checksum. Higher levels are made of it when it is read, in a millisecond. Whoever writes
the series appends to it; whoever reads it and finds it absent, damaged or behind measures what is missing.

It is derived from the series and nothing rests on it: it is never copied, and a rewind or an older version may leave it as it was.
So nobody trusts it. Whoever opens it measures some of its buckets again, the last one among them. A series that was cut and went on
otherwise differs in the last bucket; where it went on in the same way the pyramid is right.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from training.errors import InputError
from training.runs.links import MOST_SERIES
from training.runs.pyramid.levels import BUCKET, Extremes, Levels, find_extremes
from training.runs.records.series import Rows, SeriesWriter
from training.system.atomic import write_bytes
from training.system.untrusted import open_file

logger = logging.getLogger(__name__)

ReadRows = Callable[[int, int], Rows]
"""Gives the rows [first, stop) of a series."""

_MAGIC: Final = b"TRNWPYRA"
_HEADER: Final = 32
_AT_ONCE: Final = 64  # buckets: those of four thousand steps are written together
_PROBES: Final = 8  # buckets that are measured again, beside the last one
_MOST_ROWS: Final = 1 << 18  # of a series, read together


def pyramid_path(series: Path) -> Path:
    """Where the pyramid of a series lies."""
    return series.with_suffix(".pyramid")


def stack_columns(rows: Rows) -> NDArray[np.float32]:
    """The numbers of rows that have a pyramid, (rows, columns): the columns of a file that names them, or loss, gradient norm and
    learning rate of steps (``STEP_CURVES``)."""
    if "values" in (rows.dtype.names or ()):
        values: NDArray[np.float32] = rows["values"]
        return values
    return np.stack([rows[name].astype(np.float32) for name in STEP_CURVES], axis=1)


STEP_CURVES: Final = ("loss", "grad_norm", "lr")


def _bucket_row(columns: int) -> np.dtype[np.void]:
    of_each = [("low", "<f4"), ("high", "<f4"), ("low_at", "u1"), ("high_at", "u1")]
    return np.dtype([*((name, kind, (columns,)) for name, kind in of_each), ("check", "<u4")])


def _sum_up(buckets: Rows) -> NDArray[np.uint32]:
    """The checksum of each: its bytes by their places."""
    width = buckets.dtype.itemsize - 4
    data = np.ascontiguousarray(buckets).view(np.uint8).reshape(len(buckets), -1)[:, :width]
    weights = np.arange(1, 2 * width, 2, dtype=np.uint32) * np.uint32(2654435761)
    return (data * weights).sum(axis=1, dtype=np.uint32) + np.uint32(width)


def _header(columns: int) -> bytes:
    return (_MAGIC + np.array([1, columns, BUCKET], "<u4").tobytes()).ljust(_HEADER, b"\0")


def _measure(read: ReadRows, first: int, stop: int) -> Rows:
    """The buckets [first, stop) of a series."""
    parts, step = [], _MOST_ROWS // BUCKET
    for begin in range(first, stop, step):
        end = min(begin + step, stop)
        values = stack_columns(read(begin * BUCKET, end * BUCKET))
        columns, count = values.shape[1], len(values) // BUCKET
        found = find_extremes(np.ascontiguousarray(values[: count * BUCKET].reshape(count, BUCKET, columns).transpose(0, 2, 1)).reshape(-1, BUCKET))  # fmt: skip
        made = np.zeros(count, _bucket_row(columns))
        for name, each in zip(Extremes._fields, found, strict=True):
            made[name] = each.reshape(count, columns)
        made["check"] = _sum_up(made)
        parts.append(made)
    return np.concatenate(parts)


def _is_sound(buckets: Rows, read: ReadRows) -> bool:
    """Whether there are buckets, as they were written, and some of them, the last among them, say what the series says."""
    if not len(buckets) or not np.array_equal(buckets["check"], _sum_up(buckets)):
        return False
    last = len(buckets) - 1
    for at in {last, *(last * probe // _PROBES for probe in range(_PROBES))}:
        if _measure(read, at, at + 1).tobytes() != buckets[at : at + 1].tobytes():
            return False
    return True


class PyramidWriter:
    """Keeps the pyramid beside a series that is being written. It writes seldom, and what goes wrong with it is logged: the series
    is what counts."""

    def __init__(self, series: SeriesWriter, columns: int) -> None:
        """``series`` has ``columns`` numbers a row, and is cut to where it goes on."""
        self._series, self._path = series, pyramid_path(series.path)
        self._file: SeriesWriter | None = None
        self._kept = 0  # buckets in the file
        try:
            self._open(columns)
        except (OSError, InputError) as error:
            self._give_up(error)

    def _open(self, columns: int) -> None:
        rows = self._series.rows
        there = read_buckets(self._path, columns)[: rows // BUCKET]
        if not _is_sound(there, self._series.read):
            self._path.unlink(missing_ok=True)
        self._file = SeriesWriter(self._path, _bucket_row(columns), _header(columns))
        self.cut()
        self.grow(rest=True)

    def grow(self, *, rest: bool = False) -> None:
        """The series has grown. ``rest``: do not wait until there are more."""
        if self._file is None:
            return
        try:
            if (missing := self._series.rows // BUCKET - self._kept) >= (1 if rest else _AT_ONCE):
                self._file.append(_measure(self._series.read, self._kept, self._kept + missing))
                self._kept += missing
        except (OSError, InputError) as error:
            self._give_up(error)

    def cut(self) -> None:
        """The series was cut."""
        if self._file is not None:
            self._file.truncate(self._series.rows // BUCKET)
            self._kept = self._file.rows

    def close(self) -> None:
        """Write what is missing, and close the file; the series is still open."""
        self.grow(rest=True)
        if self._file is not None:
            self._file.close()
            self._file = None

    def _give_up(self, error: Exception) -> None:
        logger.warning("The pyramid %s is not kept any further: %s", self._path, error)
        if self._file is not None:
            self._file.close()
            self._file = None


def read_buckets(path: Path, columns: int) -> Rows:
    """What a file of pyramids holds, whatever it is worth; nothing where it is none of ``columns`` columns."""
    row = _bucket_row(columns)
    try:
        with open_file(path, MOST_SERIES) as stream:
            if stream.read(_HEADER) == _header(columns):
                data = stream.read()
                return np.frombuffer(data[: len(data) // row.itemsize * row.itemsize], row)
    except OSError:
        pass
    return np.empty(0, row)


def read_levels(series: Path, columns: int, read: ReadRows, rows: int) -> tuple[list[Levels], bool]:
    """The levels of each column of a series of ``rows`` rows; and whether all of them lay beside it, sound. What is missing at the end
    is measured, all of it where the file is absent or stale."""
    whole = rows // BUCKET
    buckets = read_buckets(pyramid_path(series), columns)[:whole]
    if not _is_sound(buckets, read):
        buckets = buckets[:0]
    made = [Levels() for _ in range(columns)]
    extend_levels(made, buckets)
    if missing := whole - len(buckets):
        extend_levels(made, _measure(read, len(buckets), whole))
    return made, missing == 0 or (len(buckets) > 0 and missing < 2 * _AT_ONCE)


def extend_levels(levels: Sequence[Levels], buckets: Rows) -> None:
    """Take up further buckets, in the levels of each column."""
    for column, kept in enumerate(levels):
        start = (kept.buckets + np.arange(len(buckets), dtype=np.int64)) * BUCKET
        low, high = (buckets[name][:, column].astype(np.float64) for name in ("low", "high"))
        low_at, high_at = (start + buckets[name][:, column] % BUCKET for name in ("low_at", "high_at"))
        kept.adopt(Extremes(low, high, low_at, high_at))


def keep_levels(series: Path, levels: Sequence[Levels]) -> None:
    """Write levels that were measured beside a series that nobody is writing, for the next reader; not where that cannot be."""
    found = [each.lowest() for each in levels]
    buckets = np.zeros(len(found[0].low), _bucket_row(len(levels)))
    for column, each in enumerate(found):
        for name, values in each._asdict().items():
            buckets[name][:, column] = values % BUCKET if name.endswith("_at") else values
    buckets["check"] = _sum_up(buckets)
    try:
        write_bytes(pyramid_path(series), _header(len(levels)) + buckets.tobytes())
    except OSError as error:
        logger.info("The pyramid of %s is not kept: %s", series, error)
