"""Where batches and windows begin and end: arithmetic only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise


@dataclass(frozen=True)
class Plan:
    """An epoch of ``n`` samples cut into batches, and those grouped into windows, one window for each optimizer step.

    The last batch may be short, and so may the last window. A last batch of a single sample joins the batch before it:
    batch normalisation has nothing to normalise over with one sample, and raises or learns nonsense. (With a batch size
    of 1 every batch is a single sample, as was asked for.)
    """

    n: int
    batch_size: int
    accumulation: int

    @cached_property
    def batches(self) -> int:
        """Batches of an epoch."""
        full, rest = divmod(self.n, self.batch_size)
        joins = rest == 1 and full > 0 and self.batch_size > 1
        return full + (rest > 0 and not joins)

    @cached_property
    def steps(self) -> int:
        """Windows, that is optimizer steps, of an epoch."""
        return -(-self.batches // self.accumulation)

    def bounds(self, batch: int) -> tuple[int, int]:
        """First place in the epoch's order of this batch, and the place after its last."""
        last = batch == self.batches - 1
        return batch * self.batch_size, self.n if last else (batch + 1) * self.batch_size

    def bounds_from(self, step: int) -> list[tuple[int, int]]:
        """The bounds of all batches from the step'th window on."""
        first = step * self.accumulation * self.batch_size
        return list(pairwise([*range(first, self.batches * self.batch_size, self.batch_size), self.n]))

    def window(self, step: int) -> range:
        """The batches of the step'th window of an epoch, counted from 0."""
        return range(step * self.accumulation, min((step + 1) * self.accumulation, self.batches))

    def samples(self, step: int) -> int:
        """Samples in the step'th window."""
        window = self.window(step)
        return self.bounds(window[-1])[1] - self.bounds(window[0])[0]

    @property
    def effective(self) -> int:
        """Samples of a full window."""
        return self.batch_size * self.accumulation

    def has_windows_of(self, other: Plan) -> bool:
        """Whether each step sees the very samples it sees under ``other``, however they are cut into batches."""
        if (self.n, self.steps) != (other.n, other.steps):
            return False
        return self.steps == 1 or self.effective == other.effective  # every window but the last is a full one

    def smaller(self, most: int) -> Plan | None:
        """The same windows in the largest batches of at most ``most`` samples; None where there is no such plan.

        Batches are divisors of the window. Single samples are no choice when that would leave an epoch's last sample,
        which joins the window before it otherwise, in a window of its own.
        """
        for size in range(min(most, self.batch_size - 1), 0, -1):
            if self.effective % size == 0:
                finer = Plan(self.n, size, self.effective // size)
                if finer.has_windows_of(self):
                    return finer
        return None


def plan(n: int, batch_size: int, accumulation: int = 1) -> Plan:
    """The plan of an epoch of ``n`` >= 1 samples."""
    if n < 1 or batch_size < 1 or accumulation < 1:
        raise ValueError(
            f"n, batch_size and accumulation must be at least 1, but are {n}, {batch_size}, {accumulation}"
        )
    return Plan(n, batch_size, accumulation)
