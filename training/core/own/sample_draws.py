"""Random numbers of a person's own Dataset, which follow from the sample that they are drawn for."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def seed_sample(drawn_for: str, split: str, index: int) -> None:
    """Let Python's, NumPy's and torch's generators draw what follows from the sample and from ``drawn_for``: the run's seed and
    the epoch, or what is always the same."""
    random.seed(f"own data {drawn_for} {split} {index}")
    np.random.seed(random.getrandbits(32))
    torch.default_generator.manual_seed(random.getrandbits(63))


@contextmanager
def draw_apart() -> Iterator[None]:
    """Inside, torch computes on one thread, so that sums round alike wherever a sample is made; afterwards the threads and all three
    generators are as they were."""
    before = random.getstate(), np.random.get_state(), torch.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        torch.set_rng_state(before[2])
        torch.set_num_threads(before[3])
