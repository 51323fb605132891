"""Which Python an engine runs on, and what it must not inherit. Standard library only.

A checkout and a pip installation train by the Python they run on. An installed window is frozen: ``sys.executable`` is the window
itself, so it needs the Python of an engine: one that came with it, or one that was chosen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import training

VARIABLE = "TRAINWRIGHT_ENGINE"
"""Names the engine's Python where none is chosen in Preferences."""

NO_ENGINE = "There is no engine to train with yet"
NO_ENGINE_ADVICE = "Choose or install one in Preferences, Engines: a Python that has PyTorch."

LEAKING = frozenset(
    {
        "__PYVENV_LAUNCHER__",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_USER",
        "PIP_REQUIRE_VIRTUALENV",
    }
)
"""Beside PYTHON*: what belongs to this Python, and is fatal or misleading for another one; pip's would install somewhere else."""


def is_frozen() -> bool:
    """Whether this is the installed program, whose ``sys.executable`` is no Python."""
    return bool(getattr(sys, "frozen", False))


def bundled_engines() -> list[Path]:
    """The Pythons of the engines that lie beside the installed program, in ``engines``, by name."""
    if not is_frozen():
        return []
    engines = Path(sys.executable).resolve().parent / "engines"
    places = ("python.exe", "Scripts/python.exe") if os.name == "nt" else ("bin/python",)
    found = [[engine / place for place in places if (engine / place).is_file()] for engine in sorted(engines.glob("*"))]
    return [interpreters[0] for interpreters in found if interpreters]


def own_interpreter() -> str:
    """The engine's Python where none was chosen; "" where there is none (``NO_ENGINE``)."""
    if named := os.environ.get(VARIABLE, ""):
        return named
    if is_frozen():
        return next(map(str, bundled_engines()), "")
    return sys.executable


def engine_program(chosen: str = "") -> list[str]:
    """How the engine's command line is started by the Python ``chosen``, or by our own."""
    return [chosen or own_interpreter(), "-m", "training"]


def engine_environment(base: Mapping[str, str], python: str = "") -> dict[str, str]:
    """The variables of an engine's process on ``python`` ("" for our own).

    A ``training.py`` in the working folder must not be taken for ours (PYTHONSAFEPATH). When ``training`` lies in a
    checkout, another interpreter finds it there too; an installed one is not offered, because the packages beside it
    belong to this interpreter.
    """
    other = (python or own_interpreter()) != sys.executable
    environment = without_python(base) if other else {key: base[key] for key in base if key != "PYTHONHOME"}
    environment.update(PYTHONUNBUFFERED="1", PYTHONSAFEPATH="1", PYTHONIOENCODING="utf-8")
    root = Path(training.__file__).resolve().parent.parent
    if not is_frozen() and not {"site-packages", "dist-packages"} & set(root.parts):
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), environment.get("PYTHONPATH", "")]))
    return environment


def run_engine(python: str, words: Sequence[str], instead: bool = False) -> int:
    """The command line by ``python``, in a process beside this one or, where the system can, ``instead`` of it: then signals reach it.
    Returns its exit code. Raises OSError where it cannot be started."""
    import subprocess

    command, environment = [*engine_program(python), *words], engine_environment(os.environ, python)
    sys.stdout.flush()
    if instead and os.name == "posix":
        os.execve(command[0], command, environment)
    return subprocess.run(command, env=environment, check=False).returncode


def without_python(base: Mapping[str, str]) -> dict[str, str]:
    """``base`` without what belongs to the Python that runs this."""
    return {name: value for name, value in base.items() if not name.startswith("PYTHON") and name not in LEAKING}


def leave_bundle() -> None:
    """Take back what the frozen program's starter put into the environment for itself: a browser or an engine that is
    started would load our libraries in place of its own. Nothing is changed for this process, which has read them."""
    for name in [name for name in os.environ if name.startswith("_PYI_")]:
        del os.environ[name]
    if sys.platform == "linux":
        os.environ.pop("LD_LIBRARY_PATH", None)
        if (before := os.environ.pop("LD_LIBRARY_PATH_ORIG", None)) is not None:
            os.environ["LD_LIBRARY_PATH"] = before
