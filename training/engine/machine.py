"""What a machine has that a run is computed on: devices by name, their driver, memory that processes share."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from pathlib import Path

import torch

from training.data.batching.batches import Data
from training.errors import format_bytes
from training.events import Finding
from training.findings.machine import SHARED_MEMORY
from training.system.gpus import look_for_nvidia
from training.system.hardware import read_output

SHM = Path("/dev/shm")
_SMALL = 256 << 20
"""Bytes of /dev/shm from which on worker processes can be used without a thought; Docker gives 64 MB where nobody asks for more."""
_MORE = "In a container ask for more: docker run --shm-size 2g (Kubernetes: an emptyDir of medium Memory at /dev/shm)."


def gpu_build() -> str:
    """What torch is built for besides CPUs: "CUDA 13.0", "ROCm 6.4", or "" for none; Apple's GPUs are told by their devices."""
    if torch.version.hip:
        return f"ROCm {torch.version.hip}"
    return f"CUDA {torch.version.cuda}" if torch.version.cuda else ""


def name_devices() -> tuple[str, ...]:
    """The GPUs that torch can use, in the order of their numbers."""
    if torch.cuda.is_available():
        return tuple(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
    return ("Apple GPU",) if torch.backends.mps.is_available() else ()


@functools.cache
def find_driver() -> str | None:
    """The NVIDIA driver's version, also of one that torch cannot use; None where there is none."""
    try:
        told = read_output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").splitlines()
    except (OSError, subprocess.SubprocessError):
        told = []
    # Where nvidia-smi does not work, its first line is a sentence.
    return told[0].strip() if told and told[0][:1].isdigit() else look_for_nvidia().driver or None


def shared_memory() -> int | None:
    """Bytes of /dev/shm, in which worker processes hand samples over; None where the system bounds it by memory alone."""
    if sys.platform != "linux":
        return None
    try:
        return shutil.disk_usage(SHM).total
    except OSError:
        return None


def find_small_shared_memory() -> Finding | None:
    """A warning where /dev/shm is so small that worker processes may fail for want of it."""
    size = shared_memory()
    if size is None or size >= _SMALL:
        return None
    title = (
        f"/dev/shm has {format_bytes(size)}: worker processes (loader.workers) hand samples over there, and may fail."
    )
    return SHARED_MEMORY.find("warning", title, f"{_MORE} Or use loader.workers = 0.")


def explain_shared_memory(data: Data, prefetch_factor: int) -> Finding | None:
    """A warning where the batches that workers read before their use take more than half of /dev/shm."""
    size, ahead = shared_memory(), data.bytes_ahead(prefetch_factor)
    if not data.report.batches.workers or size is None or 2 * ahead <= size:
        return None
    return SHARED_MEMORY.find(
        "warning",
        f"The workers hand over up to {format_bytes(ahead)} of batches in /dev/shm, which has {format_bytes(size)}: "
        "where it is full, they die.",
        f"{_MORE} Or use fewer workers (loader.workers), a smaller loader.prefetch_factor, or loader.workers = 0.",
    )
