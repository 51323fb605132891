"""``Resident``: all samples in one tensor where the model is, gathered by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Bounds = Sequence[tuple[int, int]]


class RawBatch(NamedTuple):
    """Samples as the source holds them, on the device, and their int64 numbers, there and on the CPU."""

    samples: Tensor
    numbers: Tensor
    indices: Tensor
    targets: Tensor | None = None
    """On the device, where they come with the samples."""


class Notice(NamedTuple):
    """Something the person should hear of; the run goes on."""

    title: str
    advice: str


class Resident:
    """Brings samples to the device. The fastest there is: one gather a batch, no process, no copy across the bus."""

    def __init__(self, samples: Tensor) -> None:
        self.samples = samples
        self.waited = 0.0
        """Seconds spent waiting for samples; set it to 0 to count again."""
        self.notices: list[Notice] = []
        """What happened since somebody looked; whoever tells it empties the list."""

    def iterate(self, use: str, order: Tensor, bounds: Bounds) -> Iterator[RawBatch]:
        """For each (first, end) the samples ``order[first:end]``; ``use`` tells passes apart that go on at the same
        time: "train", "evaluate", and "look", a short one."""
        numbers = order.to(self.samples.device)
        for first, end in bounds:
            some = numbers[first:end]
            yield RawBatch(self.samples.index_select(0, some), some, order[first:end])

    def reopen(self) -> Resident:
        """Another one of the same samples, for another run; what this one holds in memory is held once."""
        made = Resident(self.samples)
        made.notices = self.notices[:]
        return made

    def close(self) -> None:
        self.samples = torch.empty(0)
