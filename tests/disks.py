"""Disks for tests: one that is small, and one that others fill."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def mounted(path: Path, *options: str) -> bool:
    """Whether it could be done."""
    path.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *options, str(path)], capture_output=True, check=False)
    return done.returncode == 0


@contextmanager
def mount_disk(path: Path, megabytes: int) -> Iterator[Path]:
    """A disk of that size in the folder ``path``; where this user has not the rights, the test is skipped."""
    if shutil.which("mount") is None or not mounted(path, "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs"):
        pytest.skip("mounting a small disk needs rights that this user has not")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def fill(disk: Path, spare: int) -> None:
    """As another program does that writes a lot; ``spare`` bytes are left."""
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(4096))
        except OSError:
            stream.truncate(max(stream.tell() - spare, 0))
