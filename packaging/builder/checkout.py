"""The sources that are built: exactly what is committed (or, without git, what was unpacked), in a fresh folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

HOMEPAGE = "https://github.com/trainwright/trainwright"
CHECKOUT = Path(__file__).resolve().parents[2]
BUILD = CHECKOUT / "build"
"""For what takes long to make and may be used again; ignored by git."""
_SDIST_DATE = 1580601600
"""What hatchling takes where nobody says a date."""


class BuildError(Exception):
    """A target cannot be built here; the text says why and what to do."""


def version() -> str:
    """Of the sources: ``training/__init__.py`` says it."""
    text = (CHECKOUT / "training" / "__init__.py").read_text(encoding="utf-8")
    return re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0]


def run(words: Sequence[object], folder: Path | None = None, **variables: str) -> str:
    """Run a tool; returns what it printed. Raises BuildError with its last words where it is missing or fails."""
    command = [str(word) for word in words]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise BuildError(f"{command[0]} is missing, which this target needs.") from error
    if done.returncode:
        ending = "\n".join(done.stdout.strip().splitlines()[-20:])
        raise BuildError(f"{' '.join(command[:4])} ... failed with code {done.returncode}:\n{ending}")
    return done.stdout


def is_repository() -> bool:
    """Whether this is a checkout, not an unpacked sdist."""
    return (CHECKOUT / ".git").exists()


def changed_files() -> list[str]:
    """What differs from what is committed, files that git does not know included."""
    if not is_repository():
        return []
    listed = run(["git", "status", "--porcelain", "--untracked-files=normal"], CHECKOUT)
    return [line[3:] for line in listed.splitlines()]


def source_date() -> int:
    """The moment that everything built is dated with, in seconds since 1970: SOURCE_DATE_EPOCH, else that of the commit."""
    if named := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(named)
    return _commit_date() if is_repository() else _SDIST_DATE


@cache
def _commit_date() -> int:
    """Asked of git once: every file of a package is dated."""
    return int(run(["git", "log", "-1", "--format=%ct"], CHECKOUT))


def load_module(tree: Path, name: str) -> ModuleType:
    """A module of the sources that are built, whatever is installed here."""
    sys.path.insert(0, str(tree))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(tree))


@contextmanager
def clean_tree(allow_changes: bool = False) -> Iterator[Path]:
    """A folder with the committed files alone, gone afterwards. Raises BuildError where something is not committed, unless
    ``allow_changes``: then all is built as it is."""
    with TemporaryDirectory(prefix="trainwright-build-") as folder:
        tree = Path(folder) / f"trainwright-{version()}"
        if not is_repository():
            shutil.copytree(CHECKOUT, tree, ignore=shutil.ignore_patterns("__pycache__", ".venv", "build", "dist"))
        elif allow_changes:
            listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], CHECKOUT)
            for name in listed.split("\0"):
                source = CHECKOUT / name
                if name and source.is_file():
                    (tree / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(source, tree / name)
        else:
            if changed := changed_files():
                raise BuildError(
                    f"{', '.join(changed[:5])}: not committed, so nobody could build the same; commit, or say --dirty."
                )
            packed = subprocess.run(["git", "archive", "HEAD"], cwd=CHECKOUT, stdout=subprocess.PIPE, check=True)
            with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
                archive.extractall(tree, filter="data")
        yield tree
