"""Where an epoch's batches and optimizer steps begin and end: arithmetic only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise


def count_batches(n: int, batch_size: int) -> int:
    """Batches of ``n`` samples. The last may be short; one of a single sample joins the batch before it: batch normalization
    has nothing to normalize over with one sample. (With a batch size of 1 that is what was asked for.)"""
    full, rest = divmod(n, batch_size)
    joins = rest == 1 and full > 0 and batch_size > 1
    return full + (rest > 0 and not joins)


def batch_bounds(batch: int, n: int, batch_size: int) -> tuple[int, int]:
    """The first place in the epoch's order of the batch (0 is the first), and the place after its last."""
    last = batch == count_batches(n, batch_size) - 1
    return batch * batch_size, n if last else (batch + 1) * batch_size


def batches_of_step(step: int, n: int, batch_size: int, accumulation: int) -> list[tuple[int, int]]:
    """The bounds of the batches of the epoch's step (0 is the first): ``accumulation`` of them, in the last step what is left."""
    last = min((step + 1) * accumulation, count_batches(n, batch_size))
    return [batch_bounds(batch, n, batch_size) for batch in range(step * accumulation, last)]


@dataclass(frozen=True)
class BatchPlan:
    """An epoch of ``n`` samples cut into batches, ``accumulation`` of them for each optimizer step, of which the last may have
    fewer. All numbers are at least 1; ValueError otherwise."""

    n: int
    batch_size: int
    accumulation: int = 1

    def __post_init__(self) -> None:
        if min(self.n, self.batch_size, self.accumulation) < 1:
            raise ValueError(f"n, batch_size and accumulation must be at least 1: {self}")

    @cached_property
    def batches(self) -> int:
        """Batches of an epoch."""
        return count_batches(self.n, self.batch_size)

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
        first = step * self.samples_per_step
        return list(pairwise([*range(first, self.batches * self.batch_size, self.batch_size), self.n]))

    def batches_of(self, step: int) -> list[tuple[int, int]]:
        """``batches_of_step``."""
        return batches_of_step(step, self.n, self.batch_size, self.accumulation)

    def samples(self, step: int) -> int:
        """Samples in the step'th step."""
        bounds = self.batches_of(step)
        return bounds[-1][1] - bounds[0][0]

    def has_steps_of(self, other: BatchPlan) -> bool:
        """Whether each step sees the very samples it sees under ``other``, however they are cut into batches."""
        if (self.n, self.steps) != (other.n, other.steps):
            return False
        return (
            self.steps == 1 or self.samples_per_step == other.samples_per_step
        )  # every step but the last is a full one

    def smaller(self, most: int) -> BatchPlan | None:
        """The same steps in the largest batches of at most ``most`` samples; None where there is no such plan.

        Batches are divisors of a full step. Single samples are no choice when that would leave an epoch's last
        sample, which joins the step before it otherwise, in a step of its own."""
        for size in range(min(most, self.batch_size - 1), 0, -1):
            if self.samples_per_step % size == 0:
                finer = BatchPlan(self.n, size, self.samples_per_step // size)
                if finer.has_steps_of(self):
                    return finer
        return None
