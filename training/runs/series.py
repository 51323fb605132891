"""Per-step numbers as fixed-size records in one append-only file, readable while it is written."""

from __future__ import annotations

import math
import os
import zlib
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from training.errors import InputError
from training.reading import MEGABYTE, UnfitFile, open_file
from training.runs.links import MOST_SERIES

Rows = NDArray[np.void]

STEP_ROW: Final = np.dtype(
    [("step", "<i8"), ("epoch", "<i4"), ("skipped", "<i4"), ("lr", "<f8"), ("loss", "<f4"), ("grad_norm", "<f4")]
)
"""One optimizer step: ``step`` counts from 1, ``skipped`` is 1 when the guard left the weights alone."""

FLUSH_ROW: Final = np.dtype(
    [
        ("time", "<f8"),  # seconds since 1970
        ("step", "<i8"),
        ("samples_per_second", "<f4"),
        ("wait_share", "<f4"),  # share of the time spent waiting for data
        ("memory_mb", "<f4"),  # resident memory of the engine
        ("gpu_memory_mb", "<f4"),
        ("cpu_share", "<f4"),  # of all cores
        ("gpu_share", "<f4"),  # NaN where it cannot be measured
    ]
)
"""One look at the engine, about ten a second."""

GROUP_ROWS: Final = 1024
"""Rows whose damage is noticed together, in a series of up to a million of them."""

_MOST_SUMS: Final = 1024
"""What a checkpoint notes at most, about 10 kB: of a longer series the groups are twice, four times... as long."""

GROUP_SIZES: Final = tuple(GROUP_ROWS << level for level in range(20))

_MAGIC: Final = b"TRNWRGHT"
_HEADER: Final = 32


def _header(dtype: np.dtype[np.void]) -> bytes:
    return (_MAGIC + np.array([1, dtype.itemsize], "<u4").tobytes()).ljust(_HEADER, b"\0")


class SeriesWriter:
    """Appends rows to ``path``. A row reaches the file whole: a torn tail is cut when the file is opened again."""

    HEADER: ClassVar[int] = _HEADER

    def __init__(self, path: Path, dtype: np.dtype[np.void]) -> None:
        self._dtype = dtype
        new = not path.exists() or path.stat().st_size < _HEADER
        self._file = open(path, "w+b" if new else "r+b", buffering=0)  # noqa: SIM115, PTH123 - kept open for the run
        try:
            if new:
                self._write(_header(dtype))
            elif self._file.read(_HEADER) != _header(dtype):
                raise InputError(f"{path}: is not a series of this program; the run cannot be continued.")
            self._file.seek(0, os.SEEK_END)
            torn = (self._file.tell() - _HEADER) % dtype.itemsize
            if torn:
                self._file.truncate(self._file.tell() - torn)
            self._sums = _GroupSums(dtype.itemsize)
            self._sum_anew()
        except BaseException:
            self._file.close()
            raise

    @property
    def rows(self) -> int:
        """Whole rows in the file."""
        return (os.fstat(self._file.fileno()).st_size - _HEADER) // self._dtype.itemsize

    def append(self, rows: Rows) -> None:
        """Add ``rows`` (of the file's dtype) at the end."""
        data = np.ascontiguousarray(rows).tobytes()
        self._write(data)
        self._sums.add(data)

    def _write(self, data: bytes) -> None:
        view, size = memoryview(data), self._file.tell()
        try:
            while view:
                view = view[self._file.write(view) :]
        except OSError:
            self._file.truncate(size)  # no part of a row stays behind
            self._file.seek(size)
            raise

    def evidence(self) -> dict[str, Any]:
        """What was written so far, for whoever wants to know later whether it is still there unchanged."""
        group, sums = self._sums.folded()
        return {"rows": self._sums.size // self._dtype.itemsize, "group": group, "sums": sums}

    def _sum_anew(self) -> None:
        self._sums = _GroupSums(self._dtype.itemsize)
        self._file.seek(_HEADER)
        while chunk := self._file.read(MEGABYTE):  # ends where the next row goes
            self._sums.add(chunk)

    @staticmethod
    def mend_header(path: Path, dtype: np.dtype[np.void]) -> None:
        """Rewrite the first bytes of ``path``, which are always the same."""
        with path.open("r+b") as stream:
            stream.write(_header(dtype))

    def truncate(self, rows: int) -> None:
        """Keep only the first ``rows`` rows."""
        if rows < self.rows:
            self._file.truncate(_HEADER + rows * self._dtype.itemsize)
            self._sum_anew()

    def sync(self) -> None:
        """Make everything written so far survive a power cut."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; further appends are errors."""
        self._file.close()


class _GroupSums:
    """The CRC-32 of each group of rows, while bytes arrive; of two groups, it is that of their two sums (a hash tree).

    Groups that are full and many are put together once and for all, so that what is noted at a checkpoint, and the time
    that takes, does not grow with the series.
    """

    def __init__(self, itemsize: int, most: float = _MOST_SUMS) -> None:
        self._bytes = GROUP_ROWS * itemsize
        self._most = most
        self._level = 0  # each of ``_sums`` stands for 2 ** level groups
        self._sums: list[int] = []
        self._open: list[int] = []  # the groups behind those, fewer than that; the last one may not be full
        self.size = 0

    def add(self, data: bytes) -> None:
        """Take up the next bytes of the file."""
        view = memoryview(data)
        while view:
            filled = self.size % self._bytes
            if not filled:
                self._close_groups()
                self._open.append(0)
            part = view[: self._bytes - filled]
            self._open[-1] = zlib.crc32(part, self._open[-1])
            self.size += len(part)
            view = view[len(part) :]

    def _close_groups(self) -> None:
        if len(self._open) == 1 << self._level:
            self._sums.append(_paired(self._open, self._level))
            self._open.clear()
        if len(self._sums) == self._most:
            self._sums = [_pair(*self._sums[at : at + 2]) for at in range(0, len(self._sums), 2)]
            self._level += 1

    def folded(self) -> tuple[int, list[int]]:
        """How many rows each group has by now, and the sums; the last one is of what there is of its group."""
        rest = [_paired(self._open, self._level)] if self._open else []
        return GROUP_ROWS << self._level, self._sums + rest


def _pair(first: int, second: int | None = None) -> int:
    """One sum of two; one alone stays what it is."""
    return first if second is None else zlib.crc32(first.to_bytes(4, "little") + second.to_bytes(4, "little"))


def _paired(sums: list[int], level: int) -> int:
    """The one sum over ``2 ** level`` groups, or over what there is of them."""
    for _ in range(level):
        sums = [_pair(*sums[at : at + 2]) for at in range(0, len(sums), 2)]
    return sums[0]


def group_sums(path: Path, dtype: np.dtype[np.void], rows: int, group: int = GROUP_ROWS) -> list[int]:
    """The sum of each ``group`` rows among the first ``rows`` of ``path``, as ``SeriesWriter.evidence`` has them.

    ``group`` is GROUP_ROWS times a power of two.
    """
    sums, left = _GroupSums(dtype.itemsize, most=math.inf), rows * dtype.itemsize
    with path.open("rb") as stream:
        stream.seek(_HEADER)
        while left and (chunk := stream.read(min(left, MEGABYTE))):
            sums.add(chunk)
            left -= len(chunk)
    finest, width = sums.folded()[1], group // GROUP_ROWS
    return [_paired(finest[at : at + width], width.bit_length() - 1) for at in range(0, len(finest), width)]


def count_rows(path: Path, dtype: np.dtype[np.void]) -> int:
    """Whole rows in ``path`` by its size, whatever they hold; 0 when there is no file."""
    try:
        return max(os.stat(path).st_size - _HEADER, 0) // dtype.itemsize
    except OSError:
        return 0


def is_series(path: Path, dtype: np.dtype[np.void]) -> bool:
    """Whether ``path`` begins as a series of such rows does."""
    with path.open("rb") as stream:
        return stream.read(_HEADER) == _header(dtype)


class SeriesReader:
    """Reads what is new in a series file that another process may be writing."""

    def __init__(self, path: Path, dtype: np.dtype[np.void]) -> None:
        self.path = path
        self._dtype = dtype
        self._offset = 0

    def read(self) -> tuple[bool, Rows]:
        """``(cut, rows)``: rows since the last call. ``cut`` is true when the file was shortened meanwhile.

        After a cut the rows are the whole file again.
        """
        try:
            size = os.stat(self.path).st_size
        except FileNotFoundError:
            size = 0
        whole = max(size - _HEADER, 0) // self._dtype.itemsize * self._dtype.itemsize
        cut = whole < self._offset
        if cut:
            self._offset = 0
        if whole == self._offset:
            return cut, np.empty(0, self._dtype)
        try:
            with open_file(self.path, MOST_SERIES) as stream:
                if stream.read(_HEADER) != _header(self._dtype):
                    raise InputError(f"{self.path}: is not a series of this program; put the run's own file back.")
                stream.seek(_HEADER + self._offset)
                data = stream.read(whole - self._offset)
        except UnfitFile as error:
            raise InputError(f"{self.path}: {error.strerror}, so it is no series of a run.") from error
        data = data[: len(data) // self._dtype.itemsize * self._dtype.itemsize]
        self._offset += len(data)
        return cut, np.frombuffer(data, self._dtype)


def read_series(path: Path, dtype: np.dtype[np.void] = STEP_ROW) -> Rows:
    """All whole rows of ``path``; empty when there is no file."""
    return SeriesReader(path, dtype).read()[1]


def sample_series(path: Path, stretches: int, length: int) -> Rows:
    """At most ``stretches`` runs of ``length`` step rows each, evenly spaced over ``path``; all rows where there are no
    more. What is read does not grow with the series. Empty when there is no file.
    """
    rows = count_rows(path, STEP_ROW)
    if rows <= stretches * length:
        return read_series(path)
    size, parts = STEP_ROW.itemsize, []
    try:
        with open_file(path, MOST_SERIES) as stream:
            if stream.read(_HEADER) != _header(STEP_ROW):
                raise InputError(f"{path}: is not a series of this program; put the run's own file back.")
            for at in range(stretches):
                stream.seek(_HEADER + (rows * at // stretches) * size)
                parts.append(stream.read(length * size))
    except UnfitFile as error:
        raise InputError(f"{path}: {error.strerror}, so it is no series of a run.") from error
    data = b"".join(parts)
    return np.frombuffer(data[: len(data) // size * size], STEP_ROW)
