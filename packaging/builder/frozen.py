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

from builder.checkout import BUILD, run, source_date
from builder.inventory import write_inventory
from builder.wheels import make_wheel

NAME = "trainwright"
COPIED = "copied-libraries.json"
"""Written by window.spec: the libraries of this system that were taken along."""


def make_window(tree: Path, out: Path) -> list[Path]:
    """The folder ``trainwright`` in ``out``, in place of an earlier one."""
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
    made, target = work / "out" / NAME, out / NAME
    copied = made / COPIED
    (made.parent / COPIED).replace(copied)
    write_inventory(python, made, f"{NAME}-window", [Path(each) for each in json.loads(copied.read_text())])
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(made, target)
    return [target]


def window_requirements(tree: Path) -> list[str]:
    """What the window needs, and optuna, by which it reads sweeps."""
    project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    optuna = [text for text in extras["sweeps"] if text.startswith("optuna")]
    return [*project["dependencies"], *extras["studio"], *optuna]


def window_environment(tree: Path) -> Path:
    """The Python of an environment with these and PyInstaller; an earlier one serves as long as they are the same."""
    tools = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"][
        "packaging"
    ]
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
