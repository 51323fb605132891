"""Python's and NumPy's random numbers, for a person's own code, which may draw from either."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def set_user_seed(seed: int, what: str, step: int) -> None:
    """Let both generators draw what follows from the three."""
    random.seed(f"{seed} {what} {step}")
    np.random.seed(random.getrandbits(32))


def user_rng_state() -> tuple[list[Any], dict[str, Any]]:
    """The states of Python's generator and of NumPy's, in lists and numbers."""
    numpy: dict[str, Any] = np.random.get_state(legacy=False)
    version, numbers, gauss = random.getstate()
    key = numpy["state"]["key"].tolist()
    return [version, list(numbers), gauss], {**numpy, "state": {"key": key, "pos": int(numpy["state"]["pos"])}}


def set_user_rng_state(python: list[Any], numpy: dict[str, Any]) -> None:
    """Go on from ``user_rng_state()``."""
    version, numbers, gauss = python
    random.setstate((version, tuple(numbers), gauss))
    key = np.array(numpy["state"]["key"], np.uint32)
    np.random.set_state({**numpy, "state": {**numpy["state"], "key": key}})


@contextmanager
def preserve_rng(devices: Sequence[torch.device] = ()) -> Iterator[None]:
    """Afterwards both generators are what they were, and so are torch's on the CPU and on the GPUs ``devices``."""
    with torch.random.fork_rng(devices), _preserve_user_rng():
        yield


@contextmanager
def seed_user_rng(seed: int, what: str, step: int) -> Iterator[None]:
    """Inside, both generators draw what follows from the three; afterwards they are what they were."""
    with _preserve_user_rng():
        set_user_seed(seed, what, step)
        yield


@contextmanager
def _preserve_user_rng() -> Iterator[None]:
    before = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
