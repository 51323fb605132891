"""Hostile indexes, run names, presets and places to export to."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases import some_of
from tests.reliability.hostile.material import Run
from tests.reliability.hostile.trial import attempt
from training.errors import InputError
from training.runs.folder import RunFolder, delete_run
from training.runs.index import Index

pytestmark = pytest.mark.timeout(120)

Spoil = Callable[[Path], None]


def _sql(*statements: str) -> Spoil:
    def spoil(path: Path) -> None:
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    return spoil


def _replaced(make: Callable[[Path], object]) -> Spoil:
    def spoil(path: Path) -> None:
        path.unlink(missing_ok=True)
        make(path)

    return spoil


def _rows(column: str, value: object) -> Spoil:
    """Every row of the good index with another value."""

    def spoil(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute(f"UPDATE run_records SET {column} = ?", (value,))
        connection.commit()
        connection.close()

    return spoil


INDEXES: dict[str, Spoil] = {
    "random bytes": _replaced(lambda path: path.write_bytes(bytes(i * 41 % 256 for i in range(20_000)))),
    "a right header and rubbish": _replaced(
        lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 64)
    ),
    "nothing": _replaced(lambda path: path.write_bytes(b"")),
    "a folder": _replaced(lambda path: path.mkdir()),
    "a link to itself": _replaced(lambda path: path.symlink_to(path.name)),
    "a table of other columns": _sql("CREATE TABLE run_records (id)", "INSERT INTO run_records VALUES (1)"),
    "rows that lie elsewhere": _rows("folder", "/"),
    "rows of rubbish": _rows("record", "\x1b[31m"),
    "rows 100,000 deep": _rows("record", "[" * 100_000),
    "rows of another run": _rows("record", json.dumps({"run": "../../outside", "folder": "/", "status": "completed"})),
    "rows of bytes": _rows("record", b"\xff\xfe"),
    "rows of nothing": _rows("id", ""),
    "rows of names of escapes": _rows("id", "\x1b[2J"),
}


@pytest.mark.parametrize("name", some_of(INDEXES, 2))
def test_a_hostile_index_lists_the_folders_all_the_same(name: str, run: Run) -> None:
    workspace = run.path.parent.parent
    Index(workspace).runs()
    INDEXES[name](workspace / "index.sqlite")
    attempt("runs", "--workspace", workspace).judge(0)
    index = Index(workspace)
    (record,) = index.runs()
    index.close()
    assert (record.run, record.folder) == (run.path.name, str(run.path))


def test_a_run_that_is_a_link_is_never_deleted_through_it(run: Run) -> None:
    """Deleting removes a folder of the workspace's runs; what a link leads to is not one."""
    link = run.path.with_name("link")
    link.symlink_to(run.outside / "runs" / "victim", target_is_directory=True)
    with pytest.raises(InputError, match="is a link"):
        delete_run(RunFolder(link))
    (run.path / "checkpoints" / "step-99999999").symlink_to(run.outside / "runs", target_is_directory=True)
    delete_run(RunFolder(run.path))
    assert not run.path.exists()


NAMES = (
    "../../outside", "../../../../../../etc", "/etc", "/etc/passwd", "/dev/zero", "*", "g?od*", "[a-z]*", "good; touch x", "$(touch x)",
    "\x1b[31m", "a\nb", "a\u202eb", "a\0b", "~nobody-of-this-name", "x" * 5000, "a/" * 3000, ".", "..", "", " ", "-",
    "%s%n", "{run}", "\ud800",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:30]))
def test_a_hostile_name_of_a_run_is_one_sentence(name: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.outside)
    workspace = run.path.parent.parent
    attempt("show", "--workspace", workspace, "--", name).judge(2)
    attempt("resume", "--workspace", workspace, "--", name).judge(2)
    attempt("export", "--to", "script", "--out", workspace / "x.py", "--workspace", workspace, "--", name).judge(2)
    attempt("run", f"preset:{name}", "--workspace", workspace).judge(2)


def _fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def _link_outside(run: Run, name: str) -> Path:
    link = run.path.parent / name
    link.symlink_to(run.outside / "victim.txt")
    return link


OUTS: dict[str, Callable[[Run], str | Path]] = {
    "a pipe": lambda run: _fifo(run.path.parent / "x.py"),
    "a device": lambda run: "/dev/zero",
    "a file of a device": lambda run: "/dev/null/x.py",
    "a file of the system's": lambda run: "/proc/self/x.py",
    "somebody's file": lambda run: run.outside / "victim.txt",
    "a link to somebody's file": lambda run: _link_outside(run, "x.py"),
    "somebody's folder": lambda run: run.outside,
    "the root": lambda run: "/",
    "nothing": lambda run: "",
    "a name of 5,000 letters": lambda run: run.path.parent / ("x" * 5000 + ".py"),
    "a zero byte": lambda run: f"{run.path.parent}/a\0b.py",
    "a folder called x.py": lambda run: run.outside / "runs",
    "the checkpoint": lambda run: run.checkpoint,
    "the checkpoint's weights": lambda run: run.weights,
}


@pytest.mark.parametrize("name", OUTS)
@pytest.mark.parametrize("kind", ["safetensors", "script"])
def test_an_export_overwrites_nothing_of_others(name: str, kind: str, run: Run) -> None:
    out = OUTS[name](run)
    attempt("export", run.checkpoint, "--to", kind, "--out", out).judge(2)
