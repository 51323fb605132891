"""Images and labels in the files of MNIST (format: "THE IDX FILE FORMAT", LeCun, yann.lecun.com/exdb/mnist)."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import torch
from torch import Tensor

IDX_IMAGES, IDX_LABELS = "images-idx3-ubyte", "labels-idx1-ubyte"


def read_idx_parts(folder: Path, prefixes: dict[str, str]) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Images uint8 (n, H, W, 1), their classes int64 (n,), and the numbers of each part's, whose files begin with its prefix."""
    images, classes, parts = [], [], {}
    for part, prefix in prefixes.items():
        images.append(read_idx(find_idx(folder, f"{prefix}-{IDX_IMAGES}")))
        classes.append(read_idx(find_idx(folder, f"{prefix}-{IDX_LABELS}")))
        parts[part] = torch.arange(len(classes[-1])) + sum(map(len, classes[:-1]))
    return torch.cat(images).unsqueeze(3), torch.cat(classes).long(), parts


def find_idx(folder: Path, name: str) -> Path:
    """The file of that name, gzipped or not; some mirrors and unpackers write ".idx". Raises FileNotFoundError."""
    for candidate in (name, f"{name}.gz", name.replace("-idx", ".idx"), f"{name.replace('-idx', '.idx')}.gz"):
        if (folder / candidate).is_file():
            return folder / candidate
    raise FileNotFoundError(f"there is no file {name} or {name}.gz")


def read_idx(path: Path) -> Tensor:
    """The uint8 array in a file, gzipped or not."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    shape = idx_shape(data)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8, offset=4 + 4 * len(shape)).reshape(shape)


def idx_shape(header: bytes) -> tuple[int, ...]:
    """The sizes of the array: behind two zeros and a type (8: bytes) their number, and then each in four bytes."""
    return struct.unpack_from(f">{header[3]}I", header, 4)
