"""The kinds of engines that can be installed: for which machine, from where, and how much that is."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from training.system.gpus import NvidiaTraces, has_amd, has_apple, look_for_nvidia

KindName = Literal["cpu", "cuda", "rocm", "apple"]
_TORCH: Final = "https://download.pytorch.org/whl"
_OLD_DRIVER = 580
"""NVIDIA's drivers before this one do not know CUDA 13, for which torch is built where nobody asks for another."""

_BUILDS: Final = {"cpu": "the CPU", "cu": "CUDA", "rocm": "ROCm", "xpu": "Intel's GPUs"}
"""How the versions of torch's builds begin behind the +, and what they compute on."""
_NO_NVIDIA: Final = NvidiaTraces(device=False, driver="")


@dataclass(frozen=True)
class Kind:
    """``title`` is what people call it, ``build`` how torch's versions name it ("2.13.0+cpu")."""

    name: KindName
    title: str
    build: str


KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind("cpu", "CPU", "cpu"),
        Kind("cuda", "NVIDIA (CUDA)", "cu"),
        Kind("rocm", "AMD (ROCm)", "rocm"),
        Kind("apple", "Apple (MPS)", ""),
    )
}


@dataclass(frozen=True)
class Size:
    """In bytes, about: what is downloaded, and what it takes on the disk."""

    download: int
    disk: int


@dataclass(frozen=True)
class Machine:
    """What decides which kinds make sense."""

    system: str = sys.platform
    architecture: str = platform.machine().lower()
    nvidia: NvidiaTraces = _NO_NVIDIA
    amd: bool = False
    apple: bool = False

    @property
    def best(self) -> KindName:
        """What fits it."""
        if self.apple:
            return "apple"
        return "cuda" if self.nvidia.device else "rocm" if self.amd else "cpu"


def look_at_this_machine() -> Machine:
    """This one, from what the system tells."""
    return Machine(nvidia=look_for_nvidia(), amd=has_amd(), apple=has_apple())


def explain_refusal(kind: Kind, machine: Machine) -> str:
    """Why it makes no sense on ``machine``; "" where it does."""
    if kind.name == "apple":
        return "" if machine.apple else "Only for Macs with Apple silicon."
    if kind.name == "cpu":
        return "The one for Apple's GPU trains on the CPU, too." if machine.apple else ""
    if machine.system == "darwin":
        return f"There is no torch for macOS with {kind.title.partition(' ')[0]}'s GPUs."
    if kind.name == "cuda":
        return "" if machine.nvidia.device else "No NVIDIA GPU was found in this machine."
    if machine.system != "linux" or machine.architecture not in ("x86_64", "amd64"):
        return "torch is built for AMD's GPUs on Linux (x86-64) alone."
    return "" if machine.amd else "No AMD GPU was found in this machine (/dev/kfd)."


def find_index(kind: Kind, machine: Machine) -> str:
    """The index of torch's builds of this kind; "" where those of the ordinary one are of it.

    The names are those of torch 2.9.1 on https://pytorch.org/get-started/previous-versions; each index has older releases, too.
    """
    if kind.name == "rocm":
        return f"{_TORCH}/rocm6.4"
    if kind.name == "cpu":
        return f"{_TORCH}/cpu" if machine.system == "linux" else ""  # elsewhere the ordinary index has nothing else
    if kind.name == "apple":
        return ""
    driver = re.match(r"\d+", machine.nvidia.driver)
    if driver and int(driver[0]) < _OLD_DRIVER:
        return f"{_TORCH}/cu126"
    return "" if (machine.system, machine.architecture) == ("linux", "x86_64") else f"{_TORCH}/cu130"


def estimate_size(kind: Kind, machine: Machine) -> Size:
    """Known before anything is asked of the network.

    Counted on the package index in November 2026: CUDA on Linux (3.16 GB, 3.29 GB on ARM; 5.9 GB unpacked), Windows without CUDA
    (0.25 GB), Macs (0.26 GB), the CPU on Linux with torch 2.13 (0.35 GB). Guessed: all for ROCm, CUDA on Windows, and what the
    small ones unpack to.
    """
    mega = 10**6
    if kind.name == "rocm":
        return Size(5000 * mega, 16000 * mega)
    if kind.name == "cuda":
        return Size(3200 * mega, 5900 * mega)
    return Size((350 if machine.system == "linux" else 260) * mega, 1500 * mega)


def explain_build(kind: Kind, version: str, names: list[str]) -> str:
    """What is wrong with ``version`` of torch, which comes with the packages ``names``, for one who asked for ``kind``; "" where nothing
    can be said yet: the ordinary index names no builds."""
    label = version.partition("+")[2]
    other = next((title for build, title in _BUILDS.items() if label.startswith(build)), "")
    if kind.name == "apple" or (other and label.startswith(kind.build)):
        return ""
    if not other and kind.name == "cpu" and any(name.startswith("nvidia-") for name in names):
        other = "CUDA"
    if not other and kind.name == "rocm":
        other = "not ROCm"
    return other
