"""The slots of a batch: who computes which of its samples, and by which random numbers.

A batch is cut into ``loop.slots`` parts of nearly equal size, however many processes share them. Each is a forward and backward
pass by itself, so what a slot computes does not depend on who computes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from training.core import counter_rng
from training.core.batch_plan import BatchPlan


class Piece(NamedTuple):
    """What ``slot`` has of the step's ``batch``-th batch: ``first`` to ``end`` in the order of the epoch."""

    slot: int
    batch: int
    first: int
    end: int

    @property
    def bounds(self) -> tuple[int, int]:
        """Its place in the order of the epoch."""
        return self.first, self.end


@dataclass(frozen=True)
class Slots:
    """``count`` of them, of which this process computes ``mine``; ``least`` samples make one, where there are any."""

    count: int = 1
    mine: range = range(1)
    least: int = 1

    def of_all(self) -> Slots:
        """The same with nobody to share them."""
        return Slots(self.count, range(self.count), self.least)

    def cut(self, batches: Sequence[tuple[int, int]]) -> Iterator[Piece]:
        """This process's pieces of a step's batches, slot by slot. A short batch fills the first slots only."""
        for slot in self.mine:
            for number, (first, end) in enumerate(batches):
                size = end - first
                used = min(self.count, max(1, size // self.least))
                if slot < used:
                    yield Piece(slot, number, first + size * slot // used, first + size * (slot + 1) // used)

    def cut_steps(self, plan: BatchPlan, start: int) -> list[list[Piece]]:
        """This process's pieces of each step of an epoch from ``start`` on; empty where batches are not cut."""
        return [list(self.cut(plan.batches_of(step))) for step in range(start, plan.steps)] if self.count > 1 else []


def draw_seed(seed: int, epoch: int, window: int, piece: Piece) -> int:
    """What a piece's random numbers (dropout's) follow from, of the ``window``-th step of an epoch."""
    place = torch.tensor([window])
    return int(counter_rng.random_bits(seed, f"slot {piece.slot} batch {piece.batch}", epoch, place))
