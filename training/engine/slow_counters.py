"""What is asked of the system now and then only: how busy the GPU is, and what was written to the disk."""

from __future__ import annotations

import logging
import math
import time
from importlib.util import find_spec

import psutil
import torch

logger = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""Between two questions at the least: a driver may take a millisecond to answer."""


class SlowCounters:
    """Of this process and its device, since it was made."""

    def __init__(self, device: torch.device, process: psutil.Process) -> None:
        self._device, self._process = device, process
        self._has_gpu = device.type == "cuda" and find_spec("amdsmi" if torch.version.hip else "pynvml") is not None
        self._due = 0.0
        self._read = math.nan, math.nan
        self._written = self._count_written()

    def read(self) -> tuple[float, float]:
        """Share of the time that the GPU is busy, and megabytes (2**20) written; NaN where that cannot be known."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + LOOK_SECONDS
            self._read = self._ask_gpu(), (self._count_written() - self._written) / 2**20
        return self._read

    def _count_written(self) -> float:
        try:
            return float(self._process.io_counters().write_bytes)
        except (AttributeError, OSError, psutil.Error):  # macOS counts none, and some containers forbid to look
            return math.nan

    def _ask_gpu(self) -> float:
        if not self._has_gpu:
            return math.nan
        try:
            return torch.cuda.utilization(self._device) / 100
        except Exception as error:  # noqa: BLE001 - a driver's own classes, and no reason to end a run
            logger.warning("How busy the GPU is cannot be told: %s", error)
            self._has_gpu = False
            return math.nan
