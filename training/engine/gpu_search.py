"""Why a run whose device is chosen by itself computes on the CPU, where a person could expect a GPU."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from training.events import Found, warn

_NVIDIA = "0x10de"  # the vendor's number on the PCI bus
_DISPLAY = "0x03"  # what graphics cards and accelerators begin their class with there
_CPU_MEANT = "Where the CPU is meant, set precision.device to cpu."


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
    cards = (root / "sys/bus/pci/devices").glob("*/vendor")
    return NvidiaTraces(bool(driver) or any(_is_nvidia_display(card) for card in cards), driver)


def explain_cpu(traces: NvidiaTraces) -> Found | None:
    """A warning for a machine with an NVIDIA device that torch cannot use; None where there is none."""
    if not traces.device:
        return None
    title = "There is an NVIDIA GPU in this machine, but the run computes on the CPU"
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    if torch.version.cuda is None:
        return warn(
            f"{title}: this torch ({torch.__version__}) is built without CUDA.",
            f"Install a build with CUDA into the environment of the engine (pytorch.org, Get Started). {_CPU_MEANT}",
        )
    if hidden is not None and hidden.strip() in ("", "-1"):
        how = f"is {hidden.strip()}" if hidden.strip() else "is empty"
        return warn(
            f"{title}: CUDA_VISIBLE_DEVICES {how}, which hides it.",
            f"Unset the variable, or set it to the GPU's number (0), and start again. {_CPU_MEANT}",
        )
    if not traces.driver:
        return warn(
            f"{title}: no NVIDIA driver is loaded.",
            f"Install the driver; in a container, start it with access to the GPU (--gpus all). {_CPU_MEANT}",
        )
    which = "" if traces.driver == "installed" else f" {traces.driver}"
    return warn(
        f"{title}: torch ({torch.__version__}, CUDA {torch.version.cuda}) cannot use it through the NVIDIA driver{which}.",
        f"Update the driver, or install a torch for an older CUDA; nvidia-smi tells which CUDA the driver knows. {_CPU_MEANT}",
    )


def describe_absence(traces: NvidiaTraces) -> str:
    """What to say beside "CPU" where torch is built for GPUs and there is none: nothing that has to be mended."""
    if traces.device or torch.version.cuda is None:
        return ""
    return f"torch is built for CUDA {torch.version.cuda}; there is no NVIDIA GPU here"


def _is_nvidia_display(vendor: Path) -> bool:
    return _first_match(vendor, _NVIDIA) != "" and _first_match(vendor.with_name("class"), f"^{_DISPLAY}") != ""


def _first_match(path: Path, pattern: str) -> str:
    """What of a file of the system matches; "" where there is none, or it may not be read."""
    try:
        found = re.search(pattern, path.read_text(errors="replace"))
    except OSError:
        return ""
    return found.group() if found else ""
