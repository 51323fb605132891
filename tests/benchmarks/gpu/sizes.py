"""How much of everything: as the figures are meant, and as little as tries the code out. No torch here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Size:
    """``trained`` and ``held`` are samples of each of the six classes of drawn shapes."""

    resnet: str
    side: int
    batch: int
    trained: int
    held: int
    epochs: int
    quiet_steps: int
    """Steps that must not wait for the device."""
    cifar: tuple[int, int]
    cifar_changes: Mapping[str, Any]
    """Settings of the preset, by "section.key"."""
    target: float
    photos: tuple[int, int]
    photo_side: int
    photo_epochs: int

    @property
    def samples(self) -> int:
        return 6 * (self.trained + self.held)

    @property
    def held_share(self) -> float:
        return self.held / (self.trained + self.held)


# 6 x 1280 is 30 batches of 256: no batch is smaller, so nobody compiles for a second shape.
FULL = Size(
    resnet="resnet50",
    side=224,
    batch=256,
    trained=1280,
    held=64,
    epochs=5,
    quiet_steps=200,
    cifar=(50_000, 10_000),
    cifar_changes={},
    target=0.94,
    photos=(20_000, 1_000),
    photo_side=160,
    photo_epochs=3,
)
SMALL = Size(
    resnet="resnet18",
    side=32,
    batch=8,
    trained=8,
    held=2,
    epochs=2,
    quiet_steps=20,
    cifar=(600, 200),
    cifar_changes={"loop.epochs": 4, "loop.batch_size": 64, "model.channels": [16, 24, 32]},
    target=0.2,
    photos=(96, 32),
    photo_side=32,
    photo_epochs=2,
)
