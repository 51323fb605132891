"""One file in the format of MNIST ("THE IDX FILE FORMAT", LeCun, yann.lecun.com/exdb/mnist), plain or gzipped."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from training.errors import InputError, format_bytes

_ADVICE = "Get the file again, or choose another folder."
_MOST_DEFLATED = 1040  # bytes out of one: deflate's limit is 1032
_MOST_ROWS = 10**8
_KINDS = {"u1": 0x08, ">i4": 0x0C}
"""How a header names them."""


def read_idx(path: Path, dimensions: int, kind: str = "u1") -> NDArray[Any]:
    """The array in a file of numbers of ``kind``, its header checked against its length. Raises InputError."""
    start = 4 + 4 * dimensions
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as stream:
            header = stream.read(start)
            shape = _read_shape(path, header, dimensions, kind)
            promised = math.prod(shape) * np.dtype(kind).itemsize
            if packed and promised > _MOST_DEFLATED * path.stat().st_size:
                raise InputError(f"{path} is damaged: its header promises more than the file can hold.", _ADVICE)
            if not packed:
                _check_length(path, promised, path.stat().st_size - start)
            if promised > psutil.virtual_memory().available // 2:
                size = f"{format_bytes(promised)} of memory"
                raise InputError(f"{path} needs {size}, which is more than there is.", "Use a file with fewer images.")
            data = stream.read(promised + 1)  # one more than promised tells a lie; a bomb is not unpacked further
    except EOFError as error:
        raise InputError(f"{path} is cut off: the gzip data ends too early.", _ADVICE) from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is damaged: it does not unpack ({error}).", _ADVICE) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", _ADVICE) from error
    _check_length(path, promised, len(data))
    return np.frombuffer(data, kind).reshape(shape)


def _check_length(path: Path, promised: int, follow: int) -> None:
    if follow != promised:
        raise InputError(f"{path} is damaged: its header promises {promised} bytes, but {follow} follow.", _ADVICE)


def _read_shape(path: Path, header: bytes, dimensions: int, kind: str) -> tuple[int, ...]:
    if not header:
        raise InputError(f"{path} is empty.", _ADVICE)
    if len(header) < 4 + 4 * dimensions or header[:2] != b"\0\0":
        raise InputError(f"{path} is not an idx file.", _ADVICE)
    if header[2:4] != bytes([_KINDS[kind], dimensions]):
        wanted = {3: "images (bytes in three dimensions)", 1: "labels (bytes in one dimension)"}.get(
            dimensions, "labels"
        )
        raise InputError(f"{path} is an idx file, but does not hold {wanted}.", _ADVICE)
    shape: tuple[int, ...] = struct.unpack_from(f">{dimensions}I", header, 4)
    if shape[0] > _MOST_ROWS:
        raise InputError(f"{path} promises {shape[0]:,} entries; more than {_MOST_ROWS:,} are not read.", _ADVICE)
    if not math.prod(shape):
        raise InputError(f"{path} holds no {'images' if dimensions == 3 else 'labels'}.", _ADVICE)
    return shape
