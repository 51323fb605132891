"""The window with its Python as a folder: PyInstaller, in an environment that has the window's requirements and nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from builder.checkout import BUILD, BuildError, run, source_date
from builder.inventory import write_inventory
from builder.wheels import make_wheel

NAME = "trainwright"
APP = "Trainwright.app"
_GIVEN = "TRAINWRIGHT_FROZEN"
"""Names a window that was frozen elsewhere: PyInstaller freezes for the system it runs on, installers can be made on another."""
SYSTEMS = {"win32": "Windows", "darwin": "macOS"}
COPIED = "copied-libraries.json"
"""Written by window.spec: the libraries of this system that were taken along."""


def make_window(tree: Path, out: Path) -> list[Path]:
    """The folder ``trainwright`` in ``out`` (macOS: ``Trainwright.app``), in place of an earlier one."""
    python = window_environment(tree)
    with TemporaryDirectory(prefix="trainwright-wheels-") as folder:
        both, engine = make_wheel(tree, Path(folder))
        run([python, "-m", "pip", "install", "--no-deps", "--force-reinstall", "--no-compile", both])
        site = Path(run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
        work = BUILD / "window-work"
        command = [python, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN", "--workpath", work]
        run(
            [*command, "--distpath", work / "out", tree / "packaging" / "window.spec"],
            SOURCE_DATE_EPOCH=str(source_date()),
            PYTHONHASHSEED="1",
            PYTHONPATH="",
            TRAINWRIGHT_TREE=str(tree),
            TRAINWRIGHT_SITE=str(site),
            TRAINWRIGHT_ENGINE_WHEEL=str(engine),
        )
    name = APP if sys.platform == "darwin" else NAME
    made, target = work / "out" / name, out / name
    copied = made.parent / COPIED
    inside = made / "Contents" / "Resources" if sys.platform == "darwin" else made
    write_inventory(python, inside, f"{NAME}-window", [Path(each) for each in json.loads(copied.read_text())])
    if sys.platform == "darwin":  # files were added to what PyInstaller has signed
        run(["codesign", "--force", "--deep", "--sign", "-", made])
    else:
        copied.replace(made / COPIED)
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(made, target)
    return [target]


def frozen_window(tree: Path, out: Path, system: str) -> Path:
    """A window frozen on ``system``: the one that TRAINWRIGHT_FROZEN names, else one that is frozen here."""
    if given := os.environ.get(_GIVEN):
        return Path(given)
    if sys.platform != system:
        raise BuildError(
            f"A window for {SYSTEMS[system]} can only be frozen there (build.py window); {_GIVEN} may name one that was."
        )
    return make_window(tree, out)[0]


def window_requirements(tree: Path) -> list[str]:
    """What the window needs, and optuna, by which it reads sweeps."""
    project = _read_project(tree)
    extras = project["optional-dependencies"]
    optuna = [text for text in extras["sweeps"] if text.startswith("optuna")]
    return [*project["dependencies"], *extras["studio"], *optuna]


def window_environment(tree: Path) -> Path:
    """The Python of an environment with these and PyInstaller; an earlier one serves as long as they are the same."""
    tools = _read_project(tree)["optional-dependencies"]["packaging"]
    wanted = [*window_requirements(tree), *(text for text in tools if text.startswith("pyinstaller"))]
    folder = BUILD / "window-environment"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "stamp"
    mark = hashlib.sha256(json.dumps([wanted, sys.version]).encode()).hexdigest()
    if not stamp.is_file() or stamp.read_text() != mark:
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", folder])
        run([python, "-m", "pip", "install", "--disable-pip-version-check", *wanted])
        stamp.write_text(mark)
    return python


def _read_project(tree: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project
