"""Text out of files, and its characters as tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def read_text(path: Path, encoding: str) -> str:
    """The text of a file, or of every text file below a folder, one after another: a line break ends each that has none.
    Line breaks stay as they are. Raises FileNotFoundError where there is none."""
    found = list_texts(path) if path.is_dir() else [path]
    texts = [file.read_bytes().decode(encoding) for file in found if file.is_file() and file.stat().st_size]
    if not texts:
        raise FileNotFoundError("it holds no text")
    return "".join(text if text.endswith("\n") else text + "\n" for text in texts[:-1]) + texts[-1]


def list_texts(folder: Path) -> list[Path]:
    """Everything below ``folder`` that is called .txt, but for what is hidden, in the order of the paths."""
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".txt")
    return [path for path in found if not any(step.startswith(".") for step in path.relative_to(folder).parts)]


def character_tokens(characters: Sequence[str]) -> NDArray[np.int32]:
    """For each Unicode number a token: its place among ``characters``, from 1, or 0 for any other."""
    tokens = np.zeros(0x110000, dtype=np.int32)
    tokens[[ord(character) for character in characters]] = np.arange(1, len(characters) + 1)
    return tokens


def code_points(text: str) -> NDArray[np.uint32]:
    """The Unicode number of each character."""
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def count_trained(characters: int, fraction: float) -> int:
    """How many of the characters of a text are trained on, the first ones, where ``fraction`` of them is held back."""
    return characters - int(fraction * characters + 0.5)


def cut_windows(tokens: Sequence[Tensor], context: int, stride: int) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Windows of ``context`` tokens (n, context), the int64 tokens that follow each of them, and the numbers of the windows of
    each part. ``tokens`` (m,) are those to train on, with windows ``stride`` apart, and those to judge by, with each token once.
    """
    train, held = tokens[0].unfold(0, context + 1, stride), tokens[1].unfold(0, context + 1, context)
    windows, numbers = torch.cat([train, held]), torch.arange(len(train) + len(held))
    parts = {"train": numbers[: len(train)], "validation": numbers[len(train) :]}
    return windows[:, :-1], windows[:, 1:].long(), parts
