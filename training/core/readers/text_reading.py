"""Text out of files, and its characters as tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def read_texts(folder: Path, encoding: str) -> str:
    """Every text file below a folder, one after another, their line breaks as they are: one ends each that has none.
    Raises FileNotFoundError where there is none."""
    texts = [
        file.read_bytes().decode(encoding) for file in list_texts(folder) if file.is_file() and file.stat().st_size
    ]
    if not texts:
        raise FileNotFoundError("it is no folder with text in it")
    return "".join(text if text.endswith("\n") else text + "\n" for text in texts[:-1]) + texts[-1]


def list_texts(folder: Path) -> list[Path]:
    """Everything below ``folder`` that is called .txt, but for what is hidden, in the order of the paths."""
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".txt")
    return [path for path in found if not any(step.startswith(".") for step in path.relative_to(folder).parts)]


def encode_characters(text: str, characters: Sequence[str]) -> NDArray[np.int32]:
    """For each character of a text a token: its place among ``characters``, from 1, or 0 for any other."""
    tokens = np.zeros(0x110000, dtype=np.int32)  # for each number of Unicode
    tokens[[ord(character) for character in characters]] = np.arange(1, len(characters) + 1)
    return tokens[np.frombuffer(text.encode("utf-32-le"), np.uint32)]


def count_trained(characters: int, fraction: float) -> int:
    """How many of the characters of a text are trained on, the first ones, where ``fraction`` of them is held out."""
    return characters - int(fraction * characters + 0.5)


def cut_windows(tokens: Sequence[Tensor], context: int, stride: int) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Windows of ``context`` tokens (n, context), the int64 tokens that follow each, and the numbers of those of
    each part. ``tokens`` (m,) are those to train on, in windows ``stride`` apart, and those to judge by, each once.
    Raises ValueError where one of them is too short for a window."""
    if min(map(len, tokens)) <= context:
        raise ValueError(f"one of its texts has {min(map(len, tokens))} tokens, but a window needs {context + 1}")
    train, held = tokens[0].unfold(0, context + 1, stride), tokens[1].unfold(0, context + 1, context)
    windows, numbers = torch.cat([train, held]), torch.arange(len(train) + len(held))
    parts = {"train": numbers[: len(train)], "validation": numbers[len(train) :]}
    return windows[:, :-1], windows[:, 1:].long(), parts
