"""One figure: how long something takes, or how large it is, at one size of what it depends on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import psutil

Grows = Literal["constant", "linear"]


@dataclass(frozen=True)
class Measurement:
    """``value`` in ``unit`` at ``count`` of ``subject``; ``grows`` says how it may depend on the count."""

    subject: str
    name: str
    count: int
    value: float
    unit: str
    grows: Grows


class Probe:
    """Takes figures of one subject at one count."""

    def __init__(self, subject: str, count: int) -> None:
        self.taken: list[Measurement] = []
        self._subject = subject
        self._count = count
        self._memory = resident()

    def time(self, name: str, work: Callable[[], object], *, grows: Grows = "linear", repeats: int = 1) -> None:
        """Processor time of all threads, the shortest of ``repeats``: other programs on the machine disturb it least."""
        seconds = []
        for _ in range(repeats):
            began = time.process_time()
            work()
            seconds.append(time.process_time() - began)
        self.note(name, 1000 * min(seconds), "ms", grows)

    def memory(self, name: str) -> None:
        """What this process holds more than when the probe was made, or than at the last call."""
        now = resident()
        self.note(name, now - self._memory, "MB", "linear")
        self._memory = now

    def note(self, name: str, value: float, unit: str, grows: Grows = "linear") -> None:
        """A figure that was taken elsewhere."""
        self.taken.append(Measurement(self._subject, name, self._count, value, unit, grows))


def resident() -> float:
    """Resident memory of this process in MB."""
    return float(psutil.Process(os.getpid()).memory_info().rss / 2**20)
