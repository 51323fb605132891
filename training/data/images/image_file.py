"""``ImageFile``: decoded images one behind the other in one file, and a record of each in another.

Both only ever grow: what a reader has found stays where it is. A record is written after its pixels, so whatever a
``kill -9`` leaves behind is a shorter file, and the torn end of either is written over next time. Rows are mapped into
memory, not read: processes share them, and the system takes the room back when it is short.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
import zlib
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.system.atomic import write_bytes
from training.system.untrusted import UnfitFile, read_bytes

RECORD = np.dtype(
    [
        ("identity", "<u8", 2),
        ("content", "u1", 32),
        ("size", "<u8"),
        ("row", "<u4"),
        ("pixels", "<u4"),
        ("seal", "<u4"),
    ]
)
"""``identity`` says which file in which state, ``content`` is its SHA-256, ``size`` its bytes, ``row`` where its pixels lie
and ``pixels`` their CRC-32. Several records may share a row: one for each file, or state of it, with that content."""
_WORDS = RECORD.itemsize // 4 - 1
_FACTORS = np.array([(2654435761 * (2 * n + 1)) % 2**32 | 1 for n in range(_WORDS + 1)], dtype=np.uint32)

_MOST_MAPPED = 1 << 30
_AROUND = 64 << 10  # bytes that Linux maps at the touch of one


class Damaged(Exception):
    """The files are not what was written; they have to be made again."""


@dataclass(frozen=True)
class Place:
    """Where the two files lie, and the shape (H, W, C) of a row."""

    pixels: Path
    index: Path
    shape: tuple[int, ...]

    @property
    def row(self) -> int:
        """Bytes of an image."""
        return int(np.prod(self.shape))


def read_records(place: Place, most: int) -> NDArray[Any]:
    """The records that are whole. Raises Damaged, and OSError (UnfitFile for more than ``most``)."""
    text = read_bytes(place.index, most * RECORD.itemsize)
    records = np.frombuffer(text, RECORD, len(text) // RECORD.itemsize)
    whole = _seals(records, 0) == records["seal"]
    count = len(records) if whole.all() else int(np.argmin(whole))
    if whole[count:].any():
        raise Damaged
    status = place.pixels.lstat()
    # Pixels are written first, so they are never too few; overwriting what is left might give a reader others.
    if not stat.S_ISREG(status.st_mode) or status.st_size < row_count(records[:count]) * place.row:
        raise Damaged
    return records[:count]


def row_count(records: NDArray[Any]) -> int:
    """Rows of pixels that belong to ``records``."""
    return int(records["row"].max()) + 1 if len(records) else 0


def rewrite_records(place: Place, records: NDArray[Any]) -> NDArray[Any]:
    """Put ``records`` in the place of those that are there; as they are written. Raises OSError."""
    records = records.copy()
    records["seal"] = _seals(records, 0)
    write_bytes(place.index, records.tobytes())
    return records


def _seals(records: NDArray[Any], first: int) -> NDArray[np.uint32]:
    """A sum of each record's words and its number, each times an odd number of its own: any one changed word shows."""
    words = np.ascontiguousarray(records).view(np.uint32).reshape(-1, _WORDS + 1)[:, :_WORDS]
    numbers = np.arange(first + 1, first + len(records) + 1, dtype=np.uint32)
    sums: NDArray[np.uint32] = (words * _FACTORS[:_WORDS]).sum(1, dtype=np.uint32) + numbers * _FACTORS[_WORDS]
    return sums


class Rows:
    """Reads rows. Each is compared with its checksum when it is first asked for; sent to workers without its map."""

    def __init__(self, place: Place, checksums: NDArray[np.uint32]) -> None:
        self.place = place
        self._checksums = checksums
        self._seen = np.zeros(len(checksums), dtype=np.bool_)
        self._map: mmap.mmap | None = None
        self._touched = 0

    def read(self, slots: NDArray[np.int64], into: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The rows ``slots`` in ``into`` (n, H, W, C); returns the positions that could not be had (a slot of -1 among
        them), whose content is then undefined."""
        rows = self._map_rows()
        if rows is None:
            return np.arange(len(slots))
        np.take(rows, slots, axis=0, out=into, mode="clip")  # one call: it does not wait for the interpreter row by row
        self._let_go(len(slots))
        lost = slots < 0
        fresh = np.flatnonzero(~(lost | self._seen[slots]))
        for position in fresh.tolist():
            slot = slots[position]
            if zlib.crc32(into[position].data) == self._checksums[slot]:
                self._seen[slot] = True
            else:
                lost[position] = True
        return np.flatnonzero(lost)

    def _let_go(self, count: int) -> None:
        """Now and then give the pages back to the system's own cache, where they stay as near: a process that seems to hold
        the whole file frightens whoever looks after memory."""
        self._touched += count * max(self.place.row, _AROUND)
        if self._touched > _MOST_MAPPED and self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._touched = 0
            if len(self._map) < _MOST_MAPPED:
                return
            self._map.madvise(mmap.MADV_DONTNEED)

    def _map_rows(self) -> NDArray[np.uint8] | None:
        size = len(self._checksums) * self.place.row
        if not size:
            return None  # asked for nothing, mmap would map all there is
        try:
            if self._map is None:
                with open_ordinary(self.place.pixels, os.O_RDONLY) as stream:
                    self._map = mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ)
            if self._map.size() < size:
                return None  # cut off by somebody: touching what is gone would kill this process
        except (OSError, ValueError):  # removed for lack of room, shorter than it was, or no memory left to map it
            return None
        return np.frombuffer(self._map, np.uint8).reshape(-1, *self.place.shape)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_map": None}


class Writer:
    """Appends behind ``records`` and their rows; the only one at a time (the caller holds the lock)."""

    def __init__(self, place: Place, records: NDArray[Any]) -> None:
        self._place = place
        self.count = row_count(records)
        self._records = len(records)
        self._pixels = open_ordinary(place.pixels, os.O_RDWR | os.O_CREAT)
        try:
            self._index = open_ordinary(place.index, os.O_RDWR | os.O_CREAT)
        except OSError:
            self._pixels.close()
            raise
        self._index.truncate(len(records) * RECORD.itemsize)

    def append(self, records: NDArray[Any], pixels: NDArray[np.uint8]) -> NDArray[Any]:
        """Add ``pixels`` (n, H, W, C) with their records, which say what the files are; the records as they are written.
        Raises OSError."""
        records["row"] = np.arange(self.count, self.count + len(records))
        records["pixels"] = [zlib.crc32(np.ascontiguousarray(row).data) for row in pixels]
        _write(self._pixels, self.count * self._place.row, np.ascontiguousarray(pixels).data.cast("B"))
        self.note(records)
        self.count += len(records)
        return records

    def note(self, records: NDArray[Any]) -> None:
        """Add records of rows that are there. Raises OSError."""
        records["seal"] = _seals(records, self._records)
        _write(self._index, self._records * RECORD.itemsize, memoryview(records.tobytes()))
        self._records += len(records)

    def close(self) -> None:
        self._pixels.close()
        self._index.close()


def open_ordinary(path: Path, flags: int) -> FileIO:
    """Unbuffered; never through a link. Raises OSError."""
    safe = flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, safe, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnfitFile(errno.EINVAL, "is not an ordinary file", str(path))
    except BaseException:
        os.close(descriptor)
        raise
    return FileIO(descriptor, "rb" if flags == os.O_RDONLY else "rb+")


def _write(stream: FileIO, offset: int, data: memoryview) -> None:
    stream.seek(offset)
    while data:
        data = data[stream.write(data) :]
