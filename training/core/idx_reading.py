"""Images and labels in the files of MNIST (format: "THE IDX FILE FORMAT", LeCun, yann.lecun.com/exdb/mnist)."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import torch
from torch import Tensor

IDX_IMAGES, IDX_LABELS = "images-idx3-ubyte", "labels-idx1-ubyte"


def read_idx_parts(folder: Path, prefixes: dict[str, str]) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Images uint8 (n, H, W, 1), their classes int64 (n,), and the numbers of the images of each part.

    ``prefixes`` says with what the names of each part's two files begin. Raises FileNotFoundError where one is missing."""
    images: list[Tensor] = []
    labels: list[Tensor] = []
    parts, total = {}, 0
    for part, prefix in prefixes.items():
        for form, arrays in ((IDX_IMAGES, images), (IDX_LABELS, labels)):
            path = find_idx(folder, prefix, form)
            if path is None:
                raise FileNotFoundError(f"there is no file {prefix}-{form} or {prefix}-{form}.gz")
            arrays.append(read_idx(path))
        parts[part] = torch.arange(total, total + len(labels[-1]))
        total += len(labels[-1])
    return torch.cat(images).unsqueeze(3), torch.cat(labels).long(), parts


def find_idx(folder: Path, prefix: str, form: str) -> Path | None:
    """The file of a part's images or labels, gzipped or not; also with a dot before "idx", as some mirrors and unpackers
    write it. None where there is none."""
    name = f"{prefix}-{form}"
    for plain in (name, name.replace("-idx", ".idx")):
        for candidate in (plain, f"{plain}.gz"):
            if (folder / candidate).is_file():
                return folder / candidate
    return None


def read_idx(path: Path) -> Tensor:
    """The uint8 array in a file, gzipped or not."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    shape = idx_shape(data)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8, offset=4 + 4 * len(shape)).reshape(shape)


def idx_shape(header: bytes) -> tuple[int, ...]:
    """What the beginning of a file says of its array: two zeros, the type of its numbers (8: bytes), how many dimensions
    it has, and the size of each in four bytes, the highest first."""
    return struct.unpack_from(f">{header[3]}I", header, 4)
