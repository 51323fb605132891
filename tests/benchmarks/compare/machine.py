"""What a person needs to know about a computer to judge its figures. No torch here."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from training.system.hardware import name_processor

THREADING = ("GOMP_SPINCOUNT", "GLIBC_TUNABLES", "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "MALLOC_", "LD_PRELOAD", "KMP_")


def machine_facts() -> dict[str, Any]:
    """Processor, cores, memory, system, and whatever in the environment changes how arithmetic runs."""
    return {
        "processor": name_processor(),
        "cores": psutil.cpu_count(logical=False) or psutil.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else psutil.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "environment": {key: value for key, value in sorted(os.environ.items()) if key.startswith(THREADING)},
    }


def load() -> float:
    """The load average of the last minute: above 0.5 before a measurement, something else was at work."""
    return round(psutil.getloadavg()[0], 2)


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Installed versions; what is not installed is left out."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def commit(folder: Path) -> str:
    """The commit that is measured, with "+" where files differ from it; "" outside a repository."""
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=12"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()
