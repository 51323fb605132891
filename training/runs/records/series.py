"""Per-step numbers as fixed-size records in one append-only file, readable while it is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from training.errors import InputError
from training.runs.links import MOST_SERIES
from training.system.atomic import write_bytes
from training.system.untrusted import UnfitFile, open_file

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
        ("gpu_memory_mb", "<f4"),  # that torch's allocator has reserved; 0 on other devices, as the next two
        ("cpu_share", "<f4"),  # of all cores
        ("gpu_share", "<f4"),  # NaN where it cannot be measured
        ("gpu_allocated_mb", "<f4"),  # of the reserved, what tensors hold; NaN: an earlier version did not tell
        ("gpu_peak_mb", "<f4"),  # the most that tensors have held since the attempt began; NaN likewise
        ("written_mb", "<f4"),  # that the engine has written to the disk since the attempt began; NaN where unknown
        (
            "gpu_throttled",
            "<f4",
        ),  # 1 while the GPU holds its clock down for heat or for its power supply; NaN where unknown
        (
            "ranks_wait_share",
            "<f4",
        ),  # share of the time spent waiting for the other processes of the run; NaN where unknown
    ]
)
"""One look at the engine, about ten a second."""

_EARLIER: Final = {FLUSH_ROW: tuple(np.dtype(FLUSH_ROW.descr[:columns]) for columns in (12, 11, 10, 8))}
"""Rows as earlier versions wrote them. A file goes on as it was begun."""

_MAGIC: Final = b"TRNWRGHT"
_HEADER: Final = 32


def _header(dtype: np.dtype[np.void]) -> bytes:
    return (_MAGIC + np.array([1, dtype.itemsize], "<u4").tobytes()).ljust(_HEADER, b"\0")


def _layout_of(header: bytes, dtype: np.dtype[np.void]) -> np.dtype[np.void] | None:
    """How the rows of a file lie that begins with ``header``; None where it holds no such rows."""
    return next((each for each in (dtype, *_EARLIER.get(dtype, ())) if header == _header(each)), None)


def _as_layout(rows: Rows, layout: np.dtype[np.void]) -> Rows:
    """``rows`` with the columns of ``layout``; those that they lack are not known."""
    if rows.dtype == layout:
        return rows
    made, known = np.zeros(len(rows), layout), rows.dtype.names or ()
    for name in layout.names or ():
        made[name] = rows[name] if name in known else np.nan
    return made


class SeriesWriter:
    """Appends rows to ``path``. A row reaches the file whole: a torn tail is cut when the file is opened again."""

    HEADER: ClassVar[int] = _HEADER

    def __init__(self, path: Path, dtype: np.dtype[np.void], header: bytes = b"") -> None:
        """``header``: what the file begins with, where that says more than how large a row is."""
        self.path, self._dtype, self._header = path, dtype, header or _header(dtype)
        new = not path.exists() or path.stat().st_size < len(self._header)
        self._file = open(path, "w+b" if new else "r+b", buffering=0)  # noqa: SIM115, PTH123 - kept open for the run
        try:
            if new:
                self._write(self._header)
            elif (found := self._file.read(len(self._header))) != self._header:
                layout = None if header else _layout_of(found, dtype)
                if layout is None:
                    raise InputError(f"{path}: is not a series of this program; the run cannot be continued.")
                self._dtype, self._header = layout, found
            self.truncate(self.rows)  # a torn tail is no row
        except BaseException:
            self._file.close()
            raise

    def read(self, first: int, stop: int) -> Rows:
        """The rows [first, stop) of those that were written."""
        with self.path.open("rb", buffering=0) as stream:
            return read_range(stream, len(self._header), self._dtype, first, stop)

    @property
    def rows(self) -> int:
        """Whole rows in the file."""
        return (os.fstat(self._file.fileno()).st_size - len(self._header)) // self._dtype.itemsize

    def append(self, rows: Rows) -> None:
        """Add ``rows`` (of the writer's dtype) at the end."""
        self._write(np.ascontiguousarray(_as_layout(rows, self._dtype)).tobytes())

    def _write(self, data: bytes) -> None:
        view, size = memoryview(data), self._file.tell()
        try:
            while view:
                view = view[self._file.write(view) :]
        except OSError:
            self._file.truncate(size)  # no part of a row stays behind
            self._file.seek(size)
            raise

    def truncate(self, rows: int) -> None:
        """Keep only the first ``rows`` rows."""
        if rows <= self.rows:
            self._file.truncate(len(self._header) + rows * self._dtype.itemsize)
            self._file.seek(0, os.SEEK_END)

    def replace(self, rows: Rows) -> None:
        """Let the file hold ``rows`` alone, by one rename: who is killed on the way leaves it as it was. Raises OSError; then it is as it
        was, too."""
        data = self._header + np.ascontiguousarray(_as_layout(rows, self._dtype)).tobytes()
        self._file.close()  # some systems replace no file that is open
        try:
            write_bytes(self.path, data)
        finally:
            self._file = open(self.path, "r+b", buffering=0)  # noqa: SIM115, PTH123 - kept open for the run
            self._file.seek(0, os.SEEK_END)

    def sync(self) -> None:
        """Make everything written so far survive a power cut."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; further appends are errors."""
        self._file.close()


def read_range(stream: BinaryIO, header: int, row: np.dtype[np.void], first: int, stop: int) -> Rows:
    """The rows [first, stop) of a file that may be cut while it is looked at: those that are gone have NaN for their numbers.

    Mapping the file would be no faster, and to read a mapped page that was cut away ends the process.
    """
    stream.seek(header + first * row.itemsize)
    data = stream.read((stop - first) * row.itemsize) or b""
    found = np.frombuffer(data[: len(data) // row.itemsize * row.itemsize], row)
    if len(found) == stop - first:
        return found
    rows = np.zeros(stop - first, row)
    for name in row.names or ():
        if rows[name].dtype.kind == "f":
            rows[name] = np.nan
    rows[: len(found)] = found
    return rows


def count_rows(path: Path, dtype: np.dtype[np.void]) -> int:
    """Whole rows in ``path`` by its size, whatever they hold; 0 when there is no file."""
    try:
        return max(os.stat(path).st_size - _HEADER, 0) // dtype.itemsize
    except OSError:
        return 0


def is_series(path: Path, dtype: np.dtype[np.void]) -> bool:
    """Whether ``path`` begins as a series of such rows does."""
    with path.open("rb") as stream:
        return _layout_of(stream.read(_HEADER), dtype) is not None


@contextmanager
def _open_series(path: Path, dtype: np.dtype[np.void]) -> Iterator[tuple[BinaryIO, np.dtype[np.void]]]:
    """The file, and how its rows lie."""
    try:
        with open_file(path, MOST_SERIES) as stream:
            layout = _layout_of(stream.read(_HEADER), dtype)
            if layout is None:
                raise InputError(f"{path}: is not a series of this program; put the run's own file back.")
            yield stream, layout
    except UnfitFile as error:
        raise InputError(f"{path}: {error.strerror}, so it is no series of a run.") from error


class SeriesReader:
    """Reads what is new in a series file that another process may be writing."""

    def __init__(self, path: Path, dtype: np.dtype[np.void]) -> None:
        self.path = path
        self._dtype = dtype
        self._offset = 0
        self._inode = 0

    def read(self) -> tuple[bool, Rows]:
        """``(cut, rows)``: rows since the last call. ``cut`` is true when the file was shortened or replaced meanwhile.

        After a cut the rows are the whole file again.
        """
        try:
            found = os.stat(self.path)
            size, inode = max(found.st_size - _HEADER, 0), found.st_ino
        except FileNotFoundError:
            size, inode = 0, 0
        cut = size < self._offset or (self._offset > 0 and inode != self._inode)
        self._inode = inode
        if cut:
            self._offset = 0
        if size == self._offset:
            return cut, np.empty(0, self._dtype)
        with _open_series(self.path, self._dtype) as (stream, layout):
            opened = os.fstat(stream.fileno())
            if opened.st_ino != self._inode:  # replaced since it was looked at
                cut, size = cut or self._offset > 0, max(opened.st_size - _HEADER, 0)
                self._offset, self._inode = 0, opened.st_ino
            stream.seek(_HEADER + self._offset)
            data = stream.read(size - self._offset)
        data = data[: len(data) // layout.itemsize * layout.itemsize]
        self._offset += len(data)
        return cut, _as_layout(np.frombuffer(data, layout), self._dtype)


def read_series(path: Path, dtype: np.dtype[np.void] = STEP_ROW) -> Rows:
    """All whole rows of ``path``; empty when there is no file."""
    return SeriesReader(path, dtype).read()[1]


def read_steps(path: Path, first: int, last: int) -> Rows:
    """The rows of the steps ``first`` to ``last``, counted from 1, without reading others; those that there are."""
    return read_rows(path, STEP_ROW, first, last)


def read_rows(path: Path, dtype: np.dtype[np.void], first: int, last: int) -> Rows:
    """The rows ``first`` to ``last``, counted from 1, of a file of such rows; those that there are."""
    first, last = max(first, 1), min(last, count_rows(path, dtype))
    if last < first:
        return np.empty(0, dtype)
    size = dtype.itemsize
    with _open_series(path, dtype) as (stream, _):
        stream.seek(_HEADER + (first - 1) * size)
        data = stream.read((last - first + 1) * size)
    return np.frombuffer(data[: len(data) // size * size], dtype)


def read_newest(path: Path, dtype: np.dtype[np.void], count: int) -> Rows:
    """The last ``count`` rows of ``path``, or those that there are, without reading others. Raises OSError and InputError."""
    with _open_series(path, dtype) as (stream, layout):
        rows = max(os.fstat(stream.fileno()).st_size - _HEADER, 0) // layout.itemsize
        return _as_layout(read_range(stream, _HEADER, layout, max(rows - count, 0), rows), dtype)


def sample_series(path: Path, stretches: int, length: int) -> Rows:
    """At most ``stretches`` runs of ``length`` step rows each, evenly spaced over ``path``; all rows where there are no
    more. What is read does not grow with the series. Empty when there is no file.
    """
    rows = count_rows(path, STEP_ROW)
    if rows <= stretches * length:
        return read_series(path)
    size, parts = STEP_ROW.itemsize, []
    with _open_series(path, STEP_ROW) as (stream, _):
        for at in range(stretches):
            stream.seek(_HEADER + (rows * at // stretches) * size)
            parts.append(stream.read(length * size))
    data = b"".join(parts)
    return np.frombuffer(data[: len(data) // size * size], STEP_ROW)
