"""MATLAB files of level 5; ``test_mat_file`` compares with what scipy writes."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
HEAD = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<HH", 0x0100, 0x4D49)


def mat(path: Path, arrays: Arrays, packed: bool = True) -> None:
    data = HEAD
    for name, array in arrays.items():
        of, stored = {"u1": (9, 2), "u2": (11, 4), "f8": (6, 9)}[array.dtype.str[1:]]
        shape = np.array(array.shape, "<i4").tobytes()
        body = element(6, struct.pack("<II", of, 0)) + element(5, shape) + element(1, name.encode())
        whole = element(14, body + element(stored, array.tobytes(order="F")))
        data += struct.pack("<II", 15, len(zlib.compress(whole))) + zlib.compress(whole) if packed else whole
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)


def nested(value: Any, name: str = "") -> bytes:
    """A number, a text, an array of texts or records as MATLAB writes them."""
    records, texts = isinstance(value, list), isinstance(value, np.ndarray)
    of = 2 if records else 1 if texts else 4 if isinstance(value, str) else 9
    count = len(value) if of != 9 else 1
    body = element(6, struct.pack("<II", of, 0)) + element(5, struct.pack("<ii", 1, count)) + element(1, name.encode())
    if records:
        fields = list(value[0])
        body += struct.pack("<HHI", 5, 4, 16) + element(
            1, b"".join(field.encode().ljust(16, b"\0") for field in fields)
        )
        body += b"".join(nested(record[field]) for record in value for field in fields)
    elif texts:
        body += b"".join(nested(str(each)) for each in value)
    else:
        body += element(16, value.encode()) if of == 4 else element(2, bytes([value]))
    return element(14, body)
