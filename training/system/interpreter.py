"""The Pythons that engines work on: our own, those that came with the program, and what a child of another one must not inherit."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

_LEAKING = ("VIRTUAL_ENV", "CONDA_PREFIX", "__PYVENV_LAUNCHER__")


def is_frozen() -> bool:
    """Whether ``sys.executable`` is the program itself and no Python."""
    return bool(getattr(sys, "frozen", False))


def bundled_engines() -> list[Path]:
    """The interpreters of the engines that came with the program."""
    if not is_frozen():
        return []
    folder = Path(sys.executable).resolve().parent / "engines"
    places = ("python.exe", "Scripts/python.exe") if os.name == "nt" else ("bin/python",)
    return [each for engine in sorted(folder.glob("*")) for place in places if (each := engine / place).is_file()]


def own_interpreter() -> str:
    """What works where no engine was chosen; "" where there is none."""
    if chosen := os.environ.get("TRAINWRIGHT_ENGINE"):
        return chosen
    if is_frozen():
        return next(map(str, bundled_engines()), "")
    return sys.executable


def interpreter_environment(base: Mapping[str, str]) -> dict[str, str]:
    """The variables for a child with another Python than ours."""
    return {name: value for name, value in base.items() if not name.startswith("PYTHON") and name not in _LEAKING}
