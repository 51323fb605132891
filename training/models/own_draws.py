"""Python's and NumPy's random numbers for code of a person's own, which may draw from either."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def own_draws(seed: int, what: str, step: int) -> Iterator[None]:
    """Inside, both generators draw what follows from the three; afterwards they are what they were.

    So there is nothing to save, and whoever else draws in between changes nothing. Generators that the code makes for
    itself are its own affair.
    """
    before = random.getstate(), np.random.get_state()
    random.seed(f"{seed} {what} {step}")
    np.random.seed(random.getrandbits(32))
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
