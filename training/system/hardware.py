"""What the system tells of this machine's CPU, and what its programs print. Without torch."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path


def core_count() -> int:
    """Processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def read_output(*command: str) -> str:
    """What a program of the system prints. Raises OSError and SubprocessError."""
    program = shutil.which(command[0])
    if program is None:
        raise FileNotFoundError(command[0])
    ended = subprocess.run([program, *command[1:]], capture_output=True, text=True, timeout=10.0, check=True)
    return ended.stdout.strip()


@functools.cache
def name_processor() -> str:
    """The CPU's model; Python's own answer is empty or "x86_64" on Linux."""
    try:
        if sys.platform == "linux":
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
                name, _, value = line.partition(":")
                if name.strip() == "model name":
                    return value.strip()
        elif sys.platform == "darwin":
            return read_output("sysctl", "-n", "machdep.cpu.brand_string")
    except (OSError, subprocess.SubprocessError):
        return platform.machine()
    return platform.processor() or platform.machine()
