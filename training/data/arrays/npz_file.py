"""Arrays of an .npz archive, never unpickled; mapped into memory where they are stored as they are."""

from __future__ import annotations

import lzma
import math
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from training.errors import InputError, format_bytes
from training.system.host_memory import host_memory
from training.system.untrusted import escape_unprintable

_LOCAL_HEADER = 30  # bytes before the name, in each member's own header (PKWARE's APPNOTE, 4.3.7)
_UNREADABLE = (
    ValueError, OSError, EOFError, OverflowError, SyntaxError, tokenize.TokenError, struct.error, zlib.error, lzma.LZMAError,
    zipfile.BadZipFile, RuntimeError,
)  # fmt: skip
"""What zipfile and NumPy raise for damaged members; RuntimeError for encrypted ones and, as NotImplementedError, for unknown
kinds of compression."""


class NpzFile:
    """Raises InputError, in one sentence, for whatever cannot be read as arrays of numbers or text."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._shown = escape_unprintable(str(path), 300)
        try:
            with zipfile.ZipFile(path) as archive:
                self._members = {
                    info.filename.removesuffix(".npy"): info
                    for info in archive.infolist()
                    if info.filename.endswith(".npy")
                }
        except _UNREADABLE as error:
            why = escape_unprintable(str(error), 100)
            raise InputError(
                f"dataset.path: {self._shown} is no .npz file ({why}); choose one that numpy.savez wrote."
            ) from None

    @property
    def names(self) -> list[str]:
        """The arrays in it."""
        return list(self._members)

    def array(self, name: str) -> NDArray[Any]:
        """The array called ``name``: mapped read-only if it lies uncompressed in the file, else read."""
        if name not in self._members:
            known = ", ".join(escape_unprintable(each, 40) for each in self.names[:10]) or "none"
            raise InputError(f"dataset: {self._shown} has no array '{escape_unprintable(name, 60)}'; it has {known}.")
        info = self._members[name]
        try:
            with zipfile.ZipFile(self._path) as archive, archive.open(info) as member:
                version = npy.read_magic(member)
                read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                shape, fortran, dtype = read(member)
                header = member.tell()
            if dtype.hasobject:
                raise InputError(
                    f"dataset: array '{escape_unprintable(name, 60)}' of {self._shown} is pickled, which can run code; save it as numbers "
                    "or text."
                )
            size = math.prod(shape) * dtype.itemsize
            if min(shape, default=0) < 0:
                raise ValueError(f"{shape} is no shape")
            if header + size > info.file_size:
                raise ValueError(
                    f"{shape} {dtype} need {size:,} bytes, but {info.file_size - header:,} lie behind its header"
                )
            if info.compress_type == zipfile.ZIP_STORED and not fortran and np.prod(shape):
                return np.memmap(self._path, dtype, "r", self._offset(info) + header, shape)
            self._require_room(name, size)
            with np.load(self._path, allow_pickle=False) as arrays:
                found: NDArray[Any] = arrays[name]
                return found
        except _UNREADABLE as error:
            why = escape_unprintable(str(error), 200)
            raise InputError(
                f"dataset: array '{escape_unprintable(name, 60)}' of {self._shown} cannot be read ({why}); save it again with numpy.savez."
            ) from None

    def _require_room(self, name: str, size: int) -> None:
        available = host_memory().available
        if size > available:
            raise InputError(
                f"dataset: array '{escape_unprintable(name, 60)}' of {self._shown} needs {format_bytes(size)} of memory, but "
                f"{format_bytes(available)} are free; save it with numpy.savez, which leaves it on the disk, or take fewer rows."
            )

    def _offset(self, info: zipfile.ZipInfo) -> int:
        """Where a stored member's bytes begin."""
        with self._path.open("rb") as file:
            file.seek(info.header_offset + _LOCAL_HEADER - 4)
            name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
        return info.header_offset + _LOCAL_HEADER + name + extra
