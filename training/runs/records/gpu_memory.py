"""What a row of telemetry tells of a GPU's memory, in words."""

from __future__ import annotations

import math
from typing import Any

from training.errors import format_bytes

_FIGURES = (("gpu_allocated_mb", "allocated"), ("gpu_memory_mb", "reserved"), ("gpu_peak_mb", "peak"))


def describe_gpu_memory(row: Any) -> str:
    """``1.2 GB allocated, 1.5 GB reserved, 1.4 GB peak``: what tensors hold, what torch's allocator holds for them, and the
    most that tensors have held in this attempt. "" on other devices; a row of an earlier version knows the reserved alone.
    """
    figures = [(float(row[name]), word) for name, word in _FIGURES]
    return ", ".join(
        f"{format_bytes(size * 2**20)} {word}" for size, word in figures if math.isfinite(size) and size > 0
    )
