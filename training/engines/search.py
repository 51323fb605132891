"""The Pythons of this machine that could be engines, found by looking at files alone: no process is started."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from training.engines.places import ENGINE_FILE, engines_folder, list_added
from training.system.interpreter import bundled_engines, is_frozen
from training.system.resources import find_checkout

Origin = Literal["own", "bundled", "installed", "checkout", "conda", "pyenv", "uv", "system", "added"]
ORIGINS: dict[Origin, str] = {
    "own": "The Python this program runs on",
    "bundled": "Came with the program",
    "installed": "Installed by Trainwright",
    "checkout": "The environment of this checkout",
    "conda": "conda environment",
    "pyenv": "pyenv",
    "uv": "uv's Python",
    "system": "System Python",
    "added": "Added by you",
}
"""In the order they are listed."""
_CONDA_HOMES = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda")
_STAND_INS = {"WindowsApps", "shims"}
"""Folders of what only looks like a Python: links to Windows' shop, and pyenv's ways to whichever is chosen."""
_VERSIONED = tuple(f"python3.{minor}" for minor in range(11, 16))


@dataclass(frozen=True)
class Found:
    """An interpreter: its file, where it was found, and what people call its environment."""

    python: str
    origin: Origin
    name: str


def find_engines() -> list[Found]:
    """All of them, each once: of several ways to one environment, the first in the order of ``ORIGINS``."""
    found: dict[str, Found] = {}
    for each in _look_everywhere():
        found.setdefault(identify(each.python), each)
    order = list(ORIGINS)
    return sorted(found.values(), key=lambda each: order.index(each.origin))


def interpreter_of(environment: Path) -> Path:
    """Where the interpreter of an environment lies."""
    if os.name != "nt":
        return environment / "bin" / "python"
    scripts = environment / "Scripts" / "python.exe"
    return scripts if scripts.is_file() else environment / "python.exe"


def identify(python: str) -> str:
    """Equal for two ways to one environment. The interpreter of a virtual environment is a link to another one, which it is not."""
    path = Path(python)
    prefix = path.parent.parent
    if (prefix / "pyvenv.cfg").is_file() or (prefix / "conda-meta").is_dir():
        return os.path.realpath(prefix)
    return os.path.realpath(path)


def _look_everywhere() -> Iterator[Found]:
    if not is_frozen():
        yield Found(sys.executable, "own", name_environment(Path(sys.executable)))
    for python in bundled_engines():
        yield Found(str(python), "bundled", python.parent.parent.name)
    yield from _existing("installed", (file.parent for file in sorted(engines_folder().glob(f"*/{ENGINE_FILE}"))))
    if (checkout := find_checkout()) is not None:
        yield from _existing("checkout", [checkout / ".venv"])
    yield from _existing("conda", _conda_environments())
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from _existing("pyenv", [*sorted(pyenv.glob("*")), *sorted(pyenv.glob("*/envs/*"))])
    uv = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "uv" / "python"
    yield from _existing("uv", sorted(each for each in uv.glob("*") if not each.is_symlink()))
    yield from (Found(python, "system", Path(python).name) for python in _system_pythons())
    yield from (Found(python, "added", name_environment(Path(python))) for python in list_added())


def _existing(origin: Origin, environments: Iterable[Path]) -> Iterator[Found]:
    for environment in environments:
        python = interpreter_of(environment)
        if python.is_file():
            yield Found(str(python), origin, environment.name)


def name_environment(python: Path) -> str:
    """What the environment of an interpreter is called: its folder, with the project's where everybody calls it alike. One that is gone
    is taken for an environment where its interpreter has the name that those have."""
    prefix = python.parent.parent if python.parent.name in ("bin", "Scripts") else python.parent
    was_environment = python.stem == "python" and not python.exists()
    if not (was_environment or (prefix / "pyvenv.cfg").is_file() or (prefix / "conda-meta").is_dir()):
        return python.name
    return f"{prefix.parent.name}/{prefix.name}" if prefix.name in (".venv", "venv", "env") else prefix.name


def _conda_environments() -> Iterator[Path]:
    """Those that conda has written down, and those in the places it is usually installed in."""
    listed = Path.home() / ".conda" / "environments.txt"
    with suppress(OSError):  # no conda, or one that was never used
        yield from (Path(line) for line in listed.read_text(encoding="utf-8", errors="replace").split("\n") if line)
    homes = [Path.home() / name for name in _CONDA_HOMES]
    homes += [Path(each) for each in (os.environ.get("MAMBA_ROOT_PREFIX"), "/opt/conda", "/opt/miniconda3") if each]
    for home in homes:
        if (home / "conda-meta").is_dir():
            yield home
        yield from sorted((home / "envs").glob("*"))


def _system_pythons() -> Iterator[str]:
    if sys.platform == "win32":
        yield from _registered_pythons()
    for name in ("python3", *_VERSIONED):
        python = shutil.which(name)
        if python is not None and not _STAND_INS & set(Path(python).parts):
            yield python
    for folder in ("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"):
        yield from (str(path) for name in _VERSIONED if (path := Path(folder) / name).is_file())


def _registered_pythons() -> Iterator[str]:
    """https://peps.python.org/pep-0514"""
    if sys.platform != "win32":
        return
    import winreg

    for hive in (winreg.HKEY_CURRENT_USER, winreg.HKEY_LOCAL_MACHINE):
        for company in _subkeys(hive, "Software\\Python"):
            for tag in _subkeys(hive, f"Software\\Python\\{company}"):
                try:
                    folder = winreg.QueryValue(hive, f"Software\\Python\\{company}\\{tag}\\InstallPath")
                except OSError:
                    continue
                if (python := Path(folder) / "python.exe").is_file():
                    yield str(python)


def _subkeys(hive: int, path: str) -> list[str]:
    if sys.platform != "win32":
        return []
    import winreg

    names: list[str] = []
    try:
        with winreg.OpenKey(hive, path) as key:
            names += [winreg.EnumKey(key, index) for index in range(winreg.QueryInfoKey(key)[0])]
    except OSError:  # no Python was registered there
        return names
    return names
