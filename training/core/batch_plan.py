"""Where an epoch's batches and optimizer steps begin and end: arithmetic only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise


def batch_starts(n: int, batch_size: int) -> range:
    """The places at which the batches of ``n`` samples begin. The last may be short; one of a single sample joins the batch
    before it: batch normalization has nothing to normalize over with one sample."""
    return range(0, max(n - (batch_size > 1), 1), batch_size)


def drop_short_batch(n: int, batch_size: int) -> int:
    """How many of ``n`` samples fill whole batches: a short last one is left out, as DataLoader can do."""
    return n - n % batch_size


@dataclass(frozen=True)
class BatchPlan:
    """An epoch of ``n`` samples cut into batches, ``accumulation`` of them for each optimizer step, of which the last may have
    fewer. ``dropped`` samples at the end of its order are left out besides. All other numbers are at least 1; ValueError
    otherwise."""

    n: int
    batch_size: int
    accumulation: int = 1
    dropped: int = 0

    @classmethod
    def of_samples(cls, samples: int, batch_size: int, accumulation: int, drop_last: bool) -> BatchPlan:
        """The plan of a run with so many training samples; ValueError where ``drop_last`` leaves no batch."""
        kept = drop_short_batch(samples, batch_size) if drop_last else samples
        return cls(kept, batch_size, accumulation, samples - kept)

    def __post_init__(self) -> None:
        if min(self.n, self.batch_size, self.accumulation) < 1:
            raise ValueError(f"n, batch_size and accumulation must be at least 1: {self}")

    @cached_property
    def batches(self) -> int:
        """Batches of an epoch."""
        return len(batch_starts(self.n, self.batch_size))

    @cached_property
    def steps(self) -> int:
        """Optimizer steps of an epoch."""
        return -(-self.batches // self.accumulation)

    @property
    def samples_per_step(self) -> int:
        """Samples of a full step."""
        return self.batch_size * self.accumulation

    def bounds_from(self, step: int) -> list[tuple[int, int]]:
        """The bounds of all batches from the step'th step on."""
        return list(pairwise([*batch_starts(self.n, self.batch_size)[step * self.accumulation :], self.n]))

    def batches_of(self, step: int) -> list[tuple[int, int]]:
        """The bounds of the batches of the epoch's step (0 is the first): ``accumulation`` of them, in the last step what is
        left."""
        first, end = step * self.accumulation, (step + 1) * self.accumulation + 1
        starts = batch_starts(self.n, self.batch_size)[first:end]
        return list(pairwise([*starts, self.n][: self.accumulation + 1]))

    def samples(self, step: int) -> int:
        """Samples in the step'th step."""
        bounds = self.batches_of(step)
        return bounds[-1][1] - bounds[0][0]

    def has_steps_of(self, other: BatchPlan) -> bool:
        """Whether each step sees the very samples it sees under ``other``, however they are cut into batches."""
        if (self.n, self.steps) != (other.n, other.steps):
            return False
        # Every step but the last is a full one.
        return self.steps == 1 or self.samples_per_step == other.samples_per_step

    def smaller(self, most: int) -> BatchPlan | None:
        """The same steps in the largest batches of at most ``most`` samples; None where there is no such plan.

        Batches are divisors of a full step. Single samples are no choice when that would leave an epoch's last
        sample, which joins the step before it otherwise, in a step of its own."""
        for size in range(min(most, self.batch_size - 1), 0, -1):
            if self.samples_per_step % size == 0:
                finer = replace(self, batch_size=size, accumulation=self.samples_per_step // size)
                if finer.has_steps_of(self):
                    return finer
        return None
