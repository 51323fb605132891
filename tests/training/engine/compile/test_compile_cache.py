"""Folders of compiled code are deleted when nobody uses them any more, and nothing else ever is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from training.caches import compiled
from training.engine.compile import compiler

CPU = torch.device("cpu")
DAY = 86400.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A person's cache folder of compiled code; what a start sets for its process is undone."""
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path)
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    yield tmp_path / "compiled"
    os.environ.pop("TORCHINDUCTOR_CACHE_DIR", None)


def start(home: Path) -> Path:
    """A run begins to compile, on another day than the one before."""
    looked = home / "looked"
    if looked.exists():
        os.utime(looked, (0, 0))
    os.environ.pop("TORCHINDUCTOR_CACHE_DIR", None)
    return compiler.use_cache_folder(CPU)


def draw(home: Path, name: str, days: float) -> Path:
    """Compiled code of another version, last used ``days`` ago."""
    folder = home / name
    (folder / "ab").mkdir(parents=True)
    (folder / "ab" / "code.so").write_bytes(bytes(1000))
    os.utime(folder, (time.time() - days * DAY,) * 2)
    return folder


def test_what_nobody_used_for_a_month_goes_and_nothing_else(home: Path) -> None:
    old, future = draw(home, "0123abcd", 31), draw(home, "0123abce", -400)
    recent = draw(home, "fedcba98", 29)
    others = [draw(home, name, 400) for name in ("notes", "0123abcd0", "0123ABCD", "pictures")]
    (home / "01234568").write_text("a file of that name")
    target = draw(home.parent.parent, "89abcdef", 400)
    if sys.platform != "win32":
        (home / "89abcdef").symlink_to(target)
    own = start(home)
    assert own.parent == home
    assert not old.exists()
    assert not future.exists()
    assert recent.exists()
    assert all((other / "ab" / "code.so").exists() for other in others)
    assert (home / "01234568").exists()
    assert (target / "ab" / "code.so").exists()


def test_a_folder_of_the_persons_own_is_left_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = draw(home, "0123abcd", 400)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(home / "mine"))
    assert compiler.use_cache_folder(CPU) == home / "mine"
    assert old.exists()
