"""``spiral``: three intertwined arms in the plane."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from training.config.dataset import SpiralDataset
from training.core import counter_rng
from training.data.source import AtHand, Opening, Skipped
from training.facts import Layout

_ARMS = 3


@dataclass(frozen=True)
class Spiral(AtHand):
    """Points (x, y) within about the unit circle, the arms taking turns; each a function of its number and the seed."""

    samples: int
    turns: float
    noise: float
    seed: int

    layout: Layout = "vector"
    classes: tuple[str, ...] = ("arm 1", "arm 2", "arm 3")
    shape: tuple[int, ...] = (2,)
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def targets(self) -> Tensor:
        return torch.arange(self.samples) % _ARMS

    @cached_property
    def parts(self) -> dict[str, Tensor]:
        return {"train": torch.arange(self.samples)}

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(f"spiral 1 {self.samples} {self.turns!r} {self.noise!r} {self.seed}".encode()).hexdigest()

    def read(self, indices: Tensor) -> Tensor:
        """float32 (n, 2). The angle is spread by a normal draw (Box and Muller) of ``noise`` radians; the arms' distance
        is a third of a turn, so 0.15 leaves them apart and 1 mixes them."""
        along, first, second = (
            counter_rng.uniform(self.seed, f"spiral {use}", 0, indices).double() for use in ("along", "first", "second")
        )
        normal = torch.sqrt(-2.0 * torch.log1p(-first)) * torch.cos(2.0 * math.pi * second)
        radius = 0.05 + 0.95 * along
        angle = 2.0 * math.pi * (self.turns * radius + (indices % _ARMS) / _ARMS) + self.noise * normal
        return torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1).float()

    def name(self, index: int) -> str:
        return f"sample {index}"

    def take(self) -> Tensor:
        return self.read(torch.arange(self.samples))


def open_spiral(dataset: SpiralDataset, opening: Opening) -> Spiral:
    return Spiral(dataset.samples, dataset.turns, dataset.noise, dataset.data_seed)
