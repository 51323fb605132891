"""CelebA: 40 attributes, which each face has or not (mmlab.ie.cuhk.edu.hk/projects/CelebA.html)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from training.data.known.list_files import read_lines, read_words, wrong
from training.data.known.lists import Listed

_PARTS = {"0": "train", "1": "validation", "2": "test"}


def faces(place: Path) -> tuple[Listed, Tensor]:
    """The attributes as classes, and rows that stand where the class would; float32 (rows, attributes) of 0 and 1. Raises
    InputError."""
    path, parts = place / "list_attr_celeba.txt", place / "list_eval_partition.txt"
    lines = read_lines(path)  # of which the first says how many there are
    listed = Listed(tuple(lines[1].split() if len(lines) > 1 else ()))
    part_of = {picture: _PARTS.get(number) for picture, number in read_words(parts, 2)}
    signs = bytearray()  # a byte for each: eight million numbers of Python would take seconds and a gigabyte
    for row, line in enumerate(lines[2:]):
        picture, *words = line.split()
        part = part_of.get(picture)
        if part is None:
            raise wrong(parts, f"{picture} is of no part")
        if len(words) != len(listed.classes) or not {"1", "-1"}.issuperset(words):
            raise wrong(path, line)
        signs += bytes(map("1".__eq__, words))
        listed.rows.append((part, row, f"img_align_celeba/{picture}"))
    table = np.frombuffer(signs, np.uint8).reshape(len(listed.rows), len(listed.classes))
    return listed, torch.from_numpy(table.astype(np.float32))
