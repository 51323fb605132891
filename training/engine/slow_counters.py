"""What is asked of the system now and then only: how busy the GPU is, whether it is held down, and what was written to the disk."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import psutil
import torch

logger = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""Between two questions at the least: a driver may take a millisecond to answer."""
_HELD_DOWN = 0x08 | 0x20 | 0x40 | 0x80
"""NVML's reasons for a lower clock: slowdown by the hardware, heat as software and as hardware see it, the power supply's brake. A
limit of power that is set (0x04) is usual under load."""


class Counters(NamedTuple):
    """Share of the time that the GPU is busy, megabytes (2**20) written, and 1 while the GPU's clock is held down (else 0); NaN where
    that cannot be known."""

    busy: float
    written: float
    throttled: float


class SlowCounters:
    """Of this process and its device, since it was made."""

    def __init__(self, device: torch.device, process: psutil.Process) -> None:
        self._device, self._process = device, process
        on_gpu = device.type == "cuda"
        self._has_gpu = on_gpu and find_spec("amdsmi" if torch.version.hip else "pynvml") is not None
        self._has_reasons = self._has_gpu and not torch.version.hip
        self._handle: Any = None  # NVML's of the device
        self._due = 0.0
        self._read = Counters(math.nan, math.nan, math.nan)
        self._written = self._count_written()

    def read(self) -> Counters:
        """As of at most ``LOOK_SECONDS`` ago."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + LOOK_SECONDS
            busy, throttled = math.nan, math.nan
            if self._has_gpu:
                busy = self._ask(lambda: torch.cuda.utilization(self._device) / 100, "How busy the GPU is")
                self._has_gpu = not math.isnan(busy)
            if self._has_reasons:
                throttled = self._ask(self._ask_reasons, "Whether the GPU is held down")
                self._has_reasons = not math.isnan(throttled)
            self._read = Counters(busy, (self._count_written() - self._written) / 2**20, throttled)
        return self._read

    def _count_written(self) -> float:
        try:
            return float(self._process.io_counters().write_bytes)
        except (AttributeError, OSError, psutil.Error):  # macOS counts none, and some containers forbid to look
            return math.nan

    def _ask(self, question: Callable[[], float], what: str) -> float:
        try:
            return question()
        except Exception as error:  # noqa: BLE001 - a driver's own classes, and no reason to end a run
            logger.warning("%s cannot be told: %s", what, error)
            return math.nan

    def _ask_reasons(self) -> float:
        nvml = import_module("pynvml")
        if self._handle is None:
            nvml.nvmlInit()
            name = f"GPU-{torch.cuda.get_device_properties(self._device).uuid}"
            self._handle = nvml.nvmlDeviceGetHandleByUUID(name)
        return float(bool(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle) & _HELD_DOWN))
