"""The arrays in a MATLAB file of level 5, without a program in it being able to do anything.

Format: "MAT-File Format", The MathWorks (mathworks.com/help/pdf_doc/matlab/matfile_format.pdf), level 5.
"""

from __future__ import annotations

import math
import struct
import zlib
from pathlib import Path
from typing import Any, BinaryIO, Protocol

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
"""What an array of numbers consists of."""
_CELLS, _STRUCT, _TEXT = 1, 2, 4
_LETTERS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}
"""How a text lies in the file; its order of bytes is that of the file."""
_COMPLEX = 0x08
_MOST_NESTED = 8  # arrays within one another
_MOST_INSIDE = 1_000_000  # arrays in one that holds others


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
    """The arrays of numbers of those ``names``, in MATLAB's order of dimensions. Raises InputError."""
    found = _read(path, names)
    missing = [name for name in names if not isinstance(found.get(name), np.ndarray)]
    if missing:
        raise InputError(f"{path} holds no array of numbers called {missing[0]}.", "Get the file again.")
    return [found[name] for name in names]


def read_list(path: Path, name: str) -> list[Any]:
    """What the array ``name`` of cells or records holds, in the file's order: each a text, an array of numbers, such a list
    again, or for a record the dict of its fields. Raises InputError."""
    found = _read(path, (name,)).get(name)
    if not isinstance(found, list):
        raise InputError(f"{path} holds no list called {name}.", "Get the file again.")
    return found


def _read(path: Path, names: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
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
                    of, shape, name = _head(inside, order)
                    if name in names:
                        found[name] = _content(inside, order, of, shape, 0)
                        if isinstance(inside, _Inflated) and found[name] is not None:
                            inside.finish()
                stream.seek(end)
    except (_Damaged, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}.", "Delete the file, and get it again.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", "Get the file again.") from error
    return found


def _head(stream: _Stream, order: str) -> tuple[int, tuple[int, ...], str]:
    """Class, sizes and name of the array that begins here; class 0 for one of complex numbers."""
    flags = _exactly(_element(stream, order, 8)[1], 8)
    _, sizes = _element(stream, order, _MOST_SHORT)
    name = _element(stream, order, _MOST_SHORT)[1].decode("ascii", "replace")
    of, marks = (flags[0], flags[1]) if order == "<" else (flags[3], flags[2])
    shape = tuple(int(size) for size in np.frombuffer(sizes[: len(sizes) // 4 * 4], f"{order}i4"))
    return (0 if marks & _COMPLEX else of), shape, name


def _content(stream: _Stream, order: str, of: int, shape: tuple[int, ...], level: int) -> Any:
    """What the array holds whose head was read; None for what is neither number, text nor list."""
    count = math.prod(shape)
    if not shape or min(shape) < 0 or count * 8 > _MOST_BYTES:
        raise _Damaged("an array has impossible sizes")
    if of in (_CELLS, _STRUCT):
        return _inside(stream, order, of, count, level)
    if of == _TEXT:
        kind, data = _element(stream, order, _MOST_SHORT)
        letters = _LETTERS.get(kind, "ascii") + ({"<": "-le", ">": "-be"}[order] if kind in (4, 17) else "")
        return data.decode(letters, "replace")
    if of not in _NUMBERS:
        return None
    kind, data = _element(stream, order, count * 8)
    stored = np.dtype(f"{order}{_STORED[kind]}") if kind in _STORED else None
    if stored is None or len(data) != count * stored.itemsize:
        raise _Damaged("an array does not hold what its sizes promise")
    return np.frombuffer(data, stored).astype(_NUMBERS[of], copy=False).reshape(shape, order="F")


def _inside(stream: _Stream, order: str, of: int, count: int, level: int) -> list[Any]:
    """The ``count`` cells or records of an array."""
    fields = [""]
    if of == _STRUCT:
        size = int.from_bytes(_element(stream, order, 4)[1], "little" if order == "<" else "big")
        packed = _element(stream, order, _MOST_SHORT)[1]
        starts = range(0, len(packed), size) if size else ()
        fields = [packed[start : start + size].split(b"\0")[0].decode("ascii", "replace") for start in starts]
    if level >= _MOST_NESTED or count * max(1, len(fields)) > _MOST_INSIDE:
        raise _Damaged("an array holds more than it can")
    every: list[Any] = []
    for _ in range(count):
        values = [_inner(stream, order, level + 1) for _ in fields]
        every.append(dict(zip(fields, values, strict=True)) if of == _STRUCT else values[0])
    return every


def _inner(stream: _Stream, order: str, level: int) -> Any:
    kind, length = struct.unpack(f"{order}II", _exactly(stream.read(8), 8))
    if kind != _MATRIX:
        raise _Damaged("an array holds something that is none")
    if not length:  # an empty one
        return None
    of, shape, _ = _head(stream, order)
    return _content(stream, order, of, shape, level)


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
