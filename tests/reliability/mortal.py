"""A source whose reader dies; in a file of its own, because worker processes import it."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from torch import Tensor

from training.data.source import AtHand
from training.data_report import Skipped
from training.facts import Layout


class Mortal(AtHand):
    """Six numbers; whoever reads number 2 ends without a word, as often as ``lives`` has files."""

    layout: Layout = "vector"
    classes: tuple[str, ...] = ("a", "b")
    shape: tuple[int, ...] = (1,)
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    fingerprint = ""

    def __init__(self, lives: Path) -> None:
        self.lives = lives
        self.targets = torch.arange(6) % 2
        self.parts = {"train": torch.arange(6)}

    def read(self, indices: Tensor) -> Tensor:
        if 2 in indices:
            for life in self.lives.iterdir():
                life.unlink()
                os._exit(3)
        return indices.float().unsqueeze(1)

    def name(self, index: int) -> str:
        return str(index)

    def take(self) -> Tensor:
        return self.read(torch.arange(len(self.targets)))
