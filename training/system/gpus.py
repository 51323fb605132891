"""The GPUs that the system tells of, without torch and without their drivers."""

from __future__ import annotations

import os
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path

_NVIDIA, _AMD = "0x10de", "0x1002"  # the vendors' numbers on the PCI bus
_DISPLAY = "0x03"  # what graphics cards and accelerators begin their class with there
_ACCELERATOR = "0x12"  # AMD's accelerators without a display


@dataclass(frozen=True)
class NvidiaTraces:
    """What the system tells of NVIDIA devices without their driver: ``driver`` is its version, or "installed" where only that
    is known, or ""."""

    device: bool
    driver: str


def look_for_nvidia(root: Path = Path("/")) -> NvidiaTraces:
    """Look for a device and its driver in the system under ``root``."""
    if sys.platform == "win32":
        # The system has no file that names its devices; the driver brings this library along.
        installed = (Path(os.environ.get("SYSTEMROOT", r"C:\Windows")) / "System32" / "nvcuda.dll").is_file()
        return NvidiaTraces(installed, "installed" if installed else "")
    driver = _first_match(root / "proc/driver/nvidia/version", r"\b\d{3,4}\.\d+(?:\.\d+)?\b")
    if not driver and (root / "usr/lib/wsl/lib/libcuda.so.1").exists():
        driver = "installed"  # Windows' own, which Linux under it uses
    return NvidiaTraces(bool(driver) or _has_display(root, _NVIDIA), driver)


def has_amd(root: Path = Path("/")) -> bool:
    """Whether there is a GPU of AMD's with the kernel's driver for computing (``/dev/kfd``); Linux alone tells."""
    return (root / "dev/kfd").exists() and _has_display(root, _AMD)


def has_apple() -> bool:
    """Whether this is a Mac with a GPU that torch can use (MPS)."""
    return sys.platform == "darwin" and platform.machine() == "arm64"


def _has_display(root: Path, vendor: str) -> bool:
    return any(
        _first_match(card, vendor) and _first_match(card.with_name("class"), f"^(?:{_DISPLAY}|{_ACCELERATOR})")
        for card in (root / "sys/bus/pci/devices").glob("*/vendor")
    )


def _first_match(path: Path, pattern: str) -> str:
    """What of a file of the system matches; "" where there is none, or it may not be read."""
    try:
        found = re.search(pattern, path.read_text(errors="replace"))
    except OSError:
        return ""
    return found.group() if found else ""
