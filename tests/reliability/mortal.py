"""A source whose reader dies; in a file of its own, because worker processes import it."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from torch import Tensor

from training.data.source import Source


class Mortal(Source):
    """Six numbers; whoever reads number 2 ends without a word, as often as ``lives`` has files."""

    def __init__(self, lives: Path) -> None:
        targets, parts = torch.arange(6) % 2, {"train": torch.arange(6)}
        super().__init__(layout="vector", classes=("a", "b"), shape=(1,), targets=targets, parts=parts, fingerprint="")
        self.lives = lives

    def read(self, indices: Tensor) -> Tensor:
        if 2 in indices:
            for life in self.lives.iterdir():
                life.unlink()
                os._exit(3)
        return indices.float().unsqueeze(1)

    def name(self, index: int) -> str:
        return str(index)
