"""Images and labels in the files of MNIST (format: "THE IDX FILE FORMAT", LeCun, yann.lecun.com/exdb/mnist)."""

from __future__ import annotations

import gzip
from pathlib import Path

import torch
from torch import Tensor


def read_idx_parts(folder: Path, files: dict[str, tuple[str, str]]) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Images uint8 (n, H, W, 1), their classes int64 (n,), and the numbers of each part's; ``files`` names its two."""
    images, classes = ([read_idx(folder / pair[place]) for pair in files.values()] for place in (0, 1))
    numbers = torch.arange(sum(map(len, classes))).split([*map(len, classes)])
    return torch.cat(images).unsqueeze(3), torch.cat(classes).long(), dict(zip(files, numbers, strict=True))


def read_idx(path: Path) -> Tensor:
    """The uint8 array in a file, gzipped or not: its fourth byte counts the sizes, which follow in four bytes each."""
    twin = path.with_suffix("") if path.suffix == ".gz" else path.with_name(f"{path.name}.gz")
    data = (path if path.exists() or not twin.exists() else twin).read_bytes()  # packed or unpacked since
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    shape = [int.from_bytes(data[place : place + 4], "big") for place in range(4, 4 + 4 * data[3], 4)]
    return torch.frombuffer(bytearray(data), dtype=torch.uint8, offset=4 + 4 * len(shape)).reshape(shape)
