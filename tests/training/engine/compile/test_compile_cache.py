"""Folders of compiled code are deleted when nobody uses them any more, and nothing else ever is."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from tests.training.stepping import take_step
from tests.training.tiny import tiny
from training.data.file_lock import FileLock
from training.engine.assemble import assemble
from training.engine.compile import compile_cache, compile_session, compiler

CPU = torch.device("cpu")
DAY = 86400.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A person's cache folder of compiled code; what a start sets for its process is undone."""
    monkeypatch.setattr(compiler, "user_cache_path", lambda name, appauthor: tmp_path / name)
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    yield tmp_path / "Trainwright" / "compiled"
    os.environ.pop("TORCHINDUCTOR_CACHE_DIR", None)


def start(home: Path) -> Path:
    """A run begins to compile, on another day than the one before."""
    lock = home / "lock"
    if lock.exists():
        os.utime(lock, (0, 0))
    os.environ.pop("TORCHINDUCTOR_CACHE_DIR", None)
    return compiler.keep_work(CPU)


def draw(home: Path, name: str, days: float, size: int = 1000) -> Path:
    """Compiled code of another version, last used ``days`` ago."""
    folder = home / name
    (folder / "ab").mkdir(parents=True)
    (folder / "ab" / "code.so").write_bytes(bytes(size))
    os.utime(folder, (time.time() - days * DAY,) * 2)
    return folder


def test_what_nobody_used_for_a_month_goes_and_nothing_else(home: Path) -> None:
    old, future = draw(home, "0123abcd", 31), draw(home, "0123abce", -400)
    recent, killed = draw(home, "fedcba98", 29), draw(home, "01234567.removed", 0)
    others = [draw(home, name, 400) for name in ("notes", "0123abcd0", "0123ABCD", "pictures")]
    (home / "01234568").write_text("a file of that name")
    target = draw(home.parent.parent, "89abcdef", 400)
    if sys.platform != "win32":
        (home / "89abcdef").symlink_to(target)
    own = start(home)
    assert own.parent == home
    assert not old.exists()
    assert not future.exists()
    assert not killed.exists()
    assert recent.exists()
    assert all((other / "ab" / "code.so").exists() for other in others)
    assert (home / "01234568").exists()
    assert (target / "ab" / "code.so").exists()


def test_the_longest_unused_make_way_the_own_last_and_none_that_is_in_use(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_cache.make_room, "__defaults__", (2500,))
    own = start(home)
    (own / "code.so").write_bytes(bytes(1000))
    folders = {days: draw(home, f"0000000{days}", days) for days in (1, 2, 3)}
    os.utime(own, (0, 0))
    assert start(home) == own
    assert {days: folder.exists() for days, folder in folders.items()} == {1: True, 2: False, 3: False}
    assert (own / "code.so").exists()
    assert time.time() - own.stat().st_mtime < DAY  # that was a use
    busy = draw(home, "000000aa", 0.5 / 24, 9000)
    start(home)
    assert busy.exists()
    assert not folders[1].exists()
    shutil.rmtree(busy)
    (own / "code.so").write_bytes(bytes(9000))
    start(home)
    assert (own / "code.so").exists()  # somebody began less than an hour ago
    os.utime(own, (0, 0))
    assert list(start(home).iterdir()) == []


def test_a_folder_of_the_persons_own_is_left_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = draw(home, "0123abcd", 400)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(home / "mine"))
    assert compiler.keep_work(CPU) == home / "mine"
    assert old.exists()


def test_one_process_at_a_time_and_once_a_day(home: Path) -> None:
    draw(home, "fedcba98", 400)
    start(home)
    old = draw(home, "0123abcd", 400)
    compiler.keep_work(CPU)
    assert old.exists()  # today was looked already
    os.utime(home / "lock", (0, 0))
    with FileLock(home / "lock") as lock:
        assert lock.taken
        compiler.keep_work(CPU)
    assert old.exists()
    compiler.keep_work(CPU)
    assert not old.exists()


def test_those_that_begin_at_once_do_not_hinder_each_other(home: Path) -> None:
    """Threads stand for processes: the lock is one between opened files."""
    gate = threading.Barrier(4)

    def begin(_: int) -> None:
        gate.wait(60)
        compile_cache.make_room(home / "ffffffff")
        compile_cache.note_use(home / "ffffffff")

    for _ in range(5):
        old = [draw(home, f"{number:08x}", 400) for number in range(10)]
        (home / "lock").unlink(missing_ok=True)
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(begin, range(4))) == [None] * 4
        assert not any(folder.exists() for folder in old)
        assert sorted(path.name for path in home.iterdir()) == ["ffffffff", "lock"]


@pytest.mark.skipif(compiler.cpp_compiler() is None, reason="no C++ compiler here")
@pytest.mark.slow
def test_a_run_goes_on_without_the_folder(home: Path) -> None:
    """By a limit that its own folder exceeds, an hour after it was compiled."""
    start(home)
    session = assemble(tiny("precision.compile=step", "model.hidden=[7]"), lambda *_: None)
    with torch._inductor.config.patch({"cpp.vec_isa_ok": True}):
        compile_session(session, lambda *_: None)
    [own] = [path for path in home.iterdir() if path.is_dir()]
    assert list(own.iterdir())
    os.utime(own, (0, 0))
    os.utime(home / "lock", (0, 0))
    compile_cache.make_room(own, limit=0)
    assert not own.exists()
    assert session.compiled is not None
    before = [parameter.clone() for parameter in session.parameters]
    losses = [take_step(session, window)[0] for window in session.data.train_windows(0)]
    assert torch.stack(losses).isfinite().all()
    assert not any(map(torch.equal, before, session.parameters))
