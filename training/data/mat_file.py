"""The arrays of numbers in a MATLAB file of level 5, without a program in it being able to do anything.

Format: "MAT-File Format", The MathWorks (mathworks.com/help/pdf_doc/matlab/matfile_format.pdf), level 5.
"""

from __future__ import annotations

import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from training.errors import InputError
from training.reading import open_file

_MOST_BYTES = 4 * 10**9
_MOST_SHORT = 1 << 16  # bytes of an array's name, or of its sizes
_MATRIX, _COMPRESSED = 14, 15
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""How numbers lie in the file, which may take fewer bytes than what they are."""
_NUMBERS = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
"""What an array of numbers consists of; other classes are texts, lists and objects."""
_COMPLEX = 0x08


class _Stream(Protocol):
    def read(self, size: int) -> bytes: ...


class _Inflated:
    """What a compressed element holds, unpacked as far as it is read and no further."""

    def __init__(self, stream: BinaryIO, length: int) -> None:
        self._stream, self._left = stream, length
        self._inflate = zlib.decompressobj()

    def read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size > 0 and not self._inflate.eof:
            packed = self._inflate.unconsumed_tail
            if not packed:
                packed = self._stream.read(min(self._left, 1 << 20))
                self._left -= len(packed)
            part = self._inflate.decompress(packed, size)
            if not part and not packed:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def finish(self) -> None:
        """Raise zlib.error where what was packed is not what came out, or there is more of it."""
        if self.read(1) or not self._inflate.eof:
            raise zlib.error("it is cut off or damaged")


class _Damaged(ValueError):
    """The file ends too early, or says what cannot be."""


def read_arrays(path: Path, names: tuple[str, ...]) -> list[NDArray[np.generic]]:
    """The arrays of those ``names``, in MATLAB's order of dimensions. Raises InputError."""
    found: dict[str, NDArray[np.generic]] = {}
    try:
        with open_file(path, _MOST_BYTES) as stream:
            head = stream.read(128)
            order = {b"IM": "<", b"MI": ">"}.get(head[126:128], "")
            if not order or struct.unpack(f"{order}H", head[124:126])[0] != 0x0100:
                raise _Damaged("it is no MATLAB file of level 5")
            while len(found) < len(names) and (tag := stream.read(8)):
                kind, length = struct.unpack(f"{order}II", _exactly(tag, 8))
                end = stream.tell() + length
                inside: _Stream = stream
                if kind == _COMPRESSED:
                    inside = _Inflated(stream, length)
                    kind, length = struct.unpack(f"{order}II", _exactly(inside.read(8), 8))
                if kind == _MATRIX:
                    array = _matrix(inside, order, names)
                    if array is not None:
                        found[array[0]] = array[1]
                        if isinstance(inside, _Inflated):
                            inside.finish()
                stream.seek(end)
    except (_Damaged, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}.", "Delete the file, and get it again.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", "Get the file again.") from error
    missing = [name for name in names if name not in found]
    if missing:
        raise InputError(f"{path} holds no array of numbers called {missing[0]}.", "Get the file again.")
    return [found[name] for name in names]


def _matrix(stream: _Stream, order: str, names: tuple[str, ...]) -> tuple[str, NDArray[np.generic]] | None:
    """Name and numbers of the array that begins here; None for another one, or no numbers."""
    flags = _element(stream, order, 8)[1]
    _, sizes = _element(stream, order, _MOST_SHORT)
    name = _element(stream, order, _MOST_SHORT)[1].decode("ascii", "replace")
    of, marks = (flags[0], flags[1]) if order == "<" else (flags[3], flags[2])
    if name not in names or of not in _NUMBERS or marks & _COMPLEX:
        return None
    shape = tuple(int(size) for size in np.frombuffer(sizes[: len(sizes) // 4 * 4], f"{order}i4"))
    count = math.prod(shape)
    if not shape or min(shape) < 0 or count * 8 > _MOST_BYTES:
        raise _Damaged(f"array {name} has impossible sizes")
    kind, data = _element(stream, order, count * 8)
    stored = np.dtype(f"{order}{_STORED[kind]}") if kind in _STORED else None
    if stored is None or len(data) != count * stored.itemsize:
        raise _Damaged(f"array {name} does not hold what its sizes promise")
    return name, np.frombuffer(data, stored).astype(_NUMBERS[of], copy=False).reshape(shape, order="F")


def _element(stream: _Stream, order: str, most: int) -> tuple[int, bytes]:
    """Kind and content of the next element, which has at most ``most`` bytes."""
    tag = _exactly(stream.read(8), 8)
    kind, length = struct.unpack(f"{order}II", tag)
    if kind >> 16:  # a small one: its length stands beside its kind, its content in the other four bytes
        return kind & 0xFFFF, _exactly(tag[4 : 4 + (kind >> 16)], kind >> 16)
    if length > most:
        raise _Damaged("an element is longer than it can be")
    content = _exactly(stream.read(length), length)
    stream.read(-length % 8)
    return kind, content


def _exactly(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise _Damaged("it is cut off or damaged")
    return data
