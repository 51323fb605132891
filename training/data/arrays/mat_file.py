"""The arrays in a MATLAB file of level 5, without a program in it being able to do anything.

Format: "MAT-File Format", The MathWorks (mathworks.com/help/pdf_doc/matlab/matfile_format.pdf), level 5, in the order of
bytes of all computers of today.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from training.errors import InputError
from training.system.untrusted import read_bytes

_MOST_BYTES = 2 * 10**9
_MATRIX, _COMPRESSED = 14, 15
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""How numbers lie in the file, which may take fewer bytes than what they are."""
_NUMBERS = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
"""What an array of numbers consists of."""
_CELLS, _STRUCT, _TEXT = 1, 2, 4
_LETTERS = {1: "latin-1", 2: "latin-1", 4: "utf-16-le", 16: "utf-8", 17: "utf-16-le"}
"""How a text lies in the file."""
_COMPLEX = 0x08
_MOST_NESTED = 8  # arrays within one another
_MOST_INSIDE = 1_000_000  # arrays in one that holds others

Value: TypeAlias = "str | NDArray[np.generic] | list[Value] | dict[str, Value] | None"
"""A text, an array of numbers, a list of cells or records, a record by its fields; None for what is none of these."""


class _Damaged(ValueError):
    """The file ends too early, or says what cannot be."""


def read_arrays(path: Path, names: tuple[str, ...]) -> list[NDArray[np.generic]]:
    """The arrays of numbers of those ``names``, in MATLAB's order of dimensions. Raises InputError."""
    found = _read(path, names)
    arrays = [array for name in names if isinstance(array := found.get(name), np.ndarray)]
    if len(arrays) < len(names):
        missing = next(name for name in names if not isinstance(found.get(name), np.ndarray))
        raise InputError(f"{path} holds no array of numbers called {missing}.", "Get the file again.")
    return arrays


def read_list(path: Path, name: str) -> list[Value]:
    """What the array ``name`` of cells or records holds, in the file's order: each a text, an array of numbers, such a list
    again, or for a record the dict of its fields. Raises InputError."""
    found = _read(path, (name,)).get(name)
    if not isinstance(found, list):
        raise InputError(f"{path} holds no list called {name}.", "Get the file again.")
    return found


def _read(path: Path, names: tuple[str, ...]) -> dict[str, Value]:
    found: dict[str, Callable[[int], Value]] = {}
    try:
        data = memoryview(read_bytes(path, _MOST_BYTES))
        if bytes(data[124:128]) != b"\0\1IM":
            raise _Damaged("it is no MATLAB file of level 5")
        for kind, content in _elements(data[128:]):
            if kind == _COMPRESSED:
                kind, content = next(_elements(_unpack(content)), (0, content))
            if kind == _MATRIX:
                name, read = _open(content)
                if name in names:
                    found[name] = read
            if len(found) == len(names):
                break
        return {name: read(0) for name, read in found.items()}
    except (_Damaged, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}.", "Delete the file, and get it again.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", "Get the file again.") from error


def _unpack(content: memoryview) -> memoryview:
    inflate = zlib.decompressobj()
    unpacked = inflate.decompress(content, _MOST_BYTES)
    if not inflate.eof:
        raise _Damaged("it is cut off or damaged")
    return memoryview(unpacked)


def _elements(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Kind and content of each element, one behind the other."""
    while data:
        kind, length = struct.unpack("<II", _take(data, 8))
        if kind >> 16:  # a small one: its length stands beside its kind, its content in the other four bytes
            yield kind & 0xFFFF, _take(data[4:8], kind >> 16)
            data = data[8:]
        else:
            yield kind, _take(data[8:], length)
            data = data[8 + length + (0 if kind == _COMPRESSED else -length % 8) :]


def _open(data: memoryview) -> tuple[str, Callable[[int], Value]]:
    """Name of an array, and what reads what it holds, that many arrays inside of others."""
    parts = _elements(data)
    flags, sizes, name = (_next(parts)[1] for _ in range(3))
    of, marks = _take(flags, 8)[:2]
    shape = tuple(np.frombuffer(sizes[: len(sizes) // 4 * 4], "<i4").tolist())
    return _text(name), partial(_content, 0 if marks & _COMPLEX else of, shape, parts)


def _content(of: int, shape: tuple[int, ...], parts: Iterator[tuple[int, memoryview]], level: int) -> Value:
    """None for what is neither number, text nor list."""
    count = math.prod(shape)
    if not shape or min(shape) < 0 or count * 8 > _MOST_BYTES:
        raise _Damaged("an array has impossible sizes")
    if of in (_CELLS, _STRUCT):
        return _inside(of, count, parts, level)
    if of not in _NUMBERS and of != _TEXT:
        return None
    kind, data = _next(parts)
    if of == _TEXT:
        return str(data, _LETTERS.get(kind, "ascii"), "replace")
    stored = np.dtype(f"<{_STORED[kind]}") if kind in _STORED else None
    if stored is None or len(data) != count * stored.itemsize:
        raise _Damaged("an array does not hold what its sizes promise")
    return np.frombuffer(data, stored).astype(_NUMBERS[of], copy=False).reshape(shape, order="F")


def _inside(of: int, count: int, parts: Iterator[tuple[int, memoryview]], level: int) -> list[Value]:
    """The ``count`` cells or records of an array."""
    fields = [""]
    if of == _STRUCT:
        size = int.from_bytes(_next(parts)[1], "little")
        packed = _next(parts)[1]
        fields = [_text(packed[start : start + size]) for start in range(0, len(packed), size)] if size else []
    if level >= _MOST_NESTED or count * max(1, len(fields)) > _MOST_INSIDE:
        raise _Damaged("an array holds more than it can")
    every: list[Value] = []
    for _ in range(count):
        values = [_inner(parts, level + 1) for _ in fields]
        every.append(dict(zip(fields, values, strict=True)) if of == _STRUCT else values[0])
    return every


def _inner(parts: Iterator[tuple[int, memoryview]], level: int) -> Value:
    kind, data = _next(parts)
    if kind != _MATRIX:
        raise _Damaged("an array holds something that is none")
    return _open(data)[1](level) if data else None


def _next(parts: Iterator[tuple[int, memoryview]]) -> tuple[int, memoryview]:
    for part in parts:
        return part
    raise _Damaged("it is cut off or damaged")


def _text(name: memoryview) -> str:
    """Of letters up to a zero."""
    return bytes(name).split(b"\0")[0].decode("ascii", "replace")


def _take(data: memoryview, size: int) -> memoryview:
    if len(data) < size:
        raise _Damaged("it is cut off or damaged")
    return data[:size]
