"""Numbers that have names of their own, over steps: fixed-size float32 records in a file that says what its columns are."""

from __future__ import annotations

import bisect
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from training.runs.links import MOST_SERIES
from training.runs.records.series import Rows, SeriesWriter
from training.system.untrusted import MEGABYTE, UnfitFile, open_file, parse_json

_MAGIC: Final = b"TRNWCOLS"
_PREFIX: Final = len(_MAGIC) + 8  # and the version, and how many bytes come before the first row
_MOST_HEADER: Final = MEGABYTE
_MOST_COLUMNS: Final = 4096


@dataclass(frozen=True)
class Columns:
    """What the numbers of a row are, in order. ``shares``: of each column in the sum that they are the parts of; empty where
    they are no parts."""

    names: tuple[str, ...]
    shares: tuple[float, ...] = ()

    @property
    def row(self) -> np.dtype[np.void]:
        """A row: ``step``, which counts from 1, and ``values``, float32 (columns,)."""
        return np.dtype([("step", "<i8"), ("values", "<f4", (len(self.names),))])

    def header(self) -> bytes:
        """What a file of such rows begins with."""
        text = json.dumps(asdict(self)).encode()
        size = -(-(_PREFIX + len(text)) // 64) * 64
        return (_MAGIC + np.array([1, size], "<u4").tobytes() + text).ljust(size)


@dataclass(frozen=True)
class ColumnsHeader:
    """The columns of a file, and the bytes before its first row."""

    columns: Columns
    size: int


def read_columns_header(path: Path) -> ColumnsHeader | None:
    """None where ``path`` is not there or is no such file."""
    try:
        with open_file(path, MOST_SERIES) as stream:
            return _parse_header(stream)
    except (FileNotFoundError, UnfitFile):
        return None


def _parse_header(stream: BinaryIO) -> ColumnsHeader | None:
    start = stream.read(_PREFIX)
    if len(start) < _PREFIX or not start.startswith(_MAGIC):
        return None
    version, size = (int(number) for number in np.frombuffer(start[len(_MAGIC) :], "<u4"))
    if version != 1 or not _PREFIX < size <= _MOST_HEADER:
        return None
    text = stream.read(size - _PREFIX)
    try:
        said = parse_json(text)
        names, shares = said["names"], said["shares"]
        columns = Columns(tuple(map(str, names)), tuple(map(float, shares)))
    except (ValueError, TypeError, KeyError):
        return None
    fits = isinstance(names, list) and 0 < len(names) <= _MOST_COLUMNS and len(columns.shares) in (0, len(names))
    return ColumnsHeader(columns, size) if fits and len(text) == size - _PREFIX else None


def bytes_to(path: Path, step: int) -> int:
    """How much of the file its header and the rows up to ``step`` take; 0 where it is no file of columns."""
    if (header := read_columns_header(path)) is None:
        return 0
    width = header.columns.row.itemsize
    with open_file(path, MOST_SERIES) as stream:

        def read_step(row: int) -> int:
            stream.seek(header.size + row * width)
            return int.from_bytes(stream.read(8), "little")

        rows = (os.fstat(stream.fileno()).st_size - header.size) // width
        return header.size + bisect.bisect_right(range(rows), step, key=read_step) * width


def copy_columns(source: Path, target: Path, step: int) -> None:
    """The rows of ``source`` up to ``step`` as a new file; none where it is no file of columns."""
    left = bytes_to(source, step)
    if not left:
        return
    with open_file(source, MOST_SERIES) as read, target.open("wb") as write:
        while left and (part := read.read(min(left, MEGABYTE))):
            write.write(part)
            left -= len(part)


class ColumnsWriter(SeriesWriter):
    """Appends rows to ``path``, as ``SeriesWriter`` does; a file of other columns is begun again."""

    def __init__(self, path: Path, columns: Columns) -> None:
        there = read_columns_header(path)
        if there is None or there.columns != columns:
            path.unlink(missing_ok=True)
        super().__init__(path, columns.row, columns.header())

    def cut(self, step: int) -> None:
        """Keep only the rows up to ``step``."""
        self.truncate((bytes_to(self.path, step) - len(self._header)) // self._dtype.itemsize)


class ColumnsReader:
    """Reads what is new in a file of columns that another process may be writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._header: ColumnsHeader | None = None
        self._offset = self._file = 0

    @property
    def columns(self) -> Columns | None:
        """What the rows read last hold; None before there are any."""
        return self._header.columns if self._header else None

    def read(self) -> tuple[bool, Rows]:
        """``(cut, rows)``: rows since the last call, and whether the file was shortened or begun again meanwhile: the rows are
        then the whole file again."""
        try:
            if self._header is not None:
                status = os.stat(self.path)
                if (status.st_size, status.st_ino) == (self._header.size + self._offset, self._file):
                    return False, np.empty(0, self._header.columns.row)
            with open_file(self.path, MOST_SERIES) as stream:
                header = _parse_header(stream)
                if header is None:
                    return self._forget()
                status, width = os.fstat(stream.fileno()), header.columns.row.itemsize
                whole = max(status.st_size - header.size, 0) // width * width
                other = status.st_ino != self._file or header != self._header  # a state of the run that was set aside
                cut = self._header is not None and (whole < self._offset or other)
                self._header, self._offset, self._file = header, 0 if cut else self._offset, status.st_ino
                stream.seek(header.size + self._offset)
                data = stream.read(whole - self._offset)
        except (FileNotFoundError, UnfitFile):
            return self._forget()
        data = data[: len(data) // width * width]
        self._offset += len(data)
        return cut, np.frombuffer(data, header.columns.row)

    def _forget(self) -> tuple[bool, Rows]:
        cut, self._header, self._offset = self._header is not None, None, 0
        return cut, np.empty(0, Columns(("",)).row)
