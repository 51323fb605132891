"""The index of runs lost, locked, damaged or in the way: runs go on, and the list is true to the folders."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.training.tiny import tiny
from training.cli import main
from training.config import save_config
from training.engine.runs.run import resume_run, start_run
from training.runs.folder import RunFolder
from training.runs.index import Index

LOCKED = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA locking_mode = EXCLUSIVE")
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def ended(tmp_path: Path) -> RunFolder:
    return RunFolder(Path(start_run(tiny("loader.mode=resident"), tmp_path).folder))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    save_config(tiny("loader.mode=resident"), tmp_path / "tiny.toml")
    return tmp_path / "tiny.toml"


def statuses(workspace: Path) -> list[tuple[str, str]]:
    index = Index(workspace)
    found = [(record.run, record.status) for record in index.runs()]
    index.close()
    return found


def rows(workspace: Path) -> dict[str, str]:
    with closing(sqlite3.connect(workspace / "index.sqlite")) as connection:
        return dict(connection.execute("SELECT id, status FROM run_records").fetchall())


def another_run(workspace: Path) -> str:
    record = start_run(tiny("loop.epochs=1", "loader.mode=resident"), workspace)
    assert record.status == "completed"
    return str(record.run)


def overwrite_middle(path: Path) -> None:
    """Behind the header, where only reading the rows finds it."""
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)


def remove_journals(workspace: Path) -> None:
    with closing(sqlite3.connect(workspace / "index.sqlite")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.mark.parametrize("damage", ["deleted", "no database", "cut short", "damaged inside", "empty"])
def test_a_lost_or_damaged_index_is_made_anew_from_the_folders(tmp_path: Path, ended: RunFolder, damage: str) -> None:
    assert statuses(tmp_path) == [(ended.id, "completed")]
    remove_journals(tmp_path)
    path = tmp_path / "index.sqlite"
    if damage == "deleted":
        path.unlink()
    elif damage == "no database":
        path.write_bytes(b"not a database" * 1000)
    elif damage == "cut short":
        path.write_bytes(path.read_bytes()[:5000])
    elif damage == "damaged inside":
        overwrite_middle(path)
    else:
        path.write_bytes(b"")
    assert statuses(tmp_path) == [(ended.id, "completed")]
    assert rows(tmp_path) == {ended.id: "completed"}
    second = another_run(tmp_path)
    assert statuses(tmp_path) == [(second, "completed"), (ended.id, "completed")]


def test_a_status_file_is_read_again_whenever_it_is_another_one(tmp_path: Path, ended: RunFolder) -> None:
    """Also when the clock was set back meanwhile, so that the newer file bears the older time."""
    assert statuses(tmp_path) == [(ended.id, "completed")]
    ended.write_status(ended.status().model_copy(update={"status": "failed"}))
    os.utime(ended.status_file, (1e9, 1e9))
    assert statuses(tmp_path) == [(ended.id, "failed")]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program holds the database for as long as it likes."""
    with subprocess.Popen(
        [sys.executable, "-c", LOCKED, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "locked\n"
            yield
        finally:
            process.kill()


@pytest.mark.slow
def test_a_locked_index_holds_up_neither_runs_nor_the_list(tmp_path: Path, ended: RunFolder) -> None:
    remove_journals(tmp_path)
    with locked(tmp_path / "index.sqlite"):
        second = another_run(tmp_path)
        assert statuses(tmp_path) == [(second, "completed"), (ended.id, "completed")]
    assert statuses(tmp_path) == [(second, "completed"), (ended.id, "completed")]
    assert rows(tmp_path) == {ended.id: "completed", second: "completed"}


@pytest.fixture
def tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits a second for what a further attempt cannot mend."""
    monkeypatch.setattr("training.runs.index.recorder._ATTEMPTS", 1)


@pytest.mark.usefixtures("tried_once")
def test_a_folder_in_the_index_s_place_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "index.sqlite").mkdir()
    run = another_run(tmp_path)
    assert statuses(tmp_path) == [(run, "completed")]
    assert resume_run(run, tmp_path).status == "completed"
    assert (tmp_path / "index.sqlite").is_dir()


def test_an_index_is_not_made_where_the_workspace_is_gone(tmp_path: Path) -> None:
    assert statuses(tmp_path / "gone") == []
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("name", ["mine?x=1", "a#b%20", "mode=memory&uri=true?mode=memory", ":memory:", "line\nbreak"])
def test_the_index_lies_in_a_workspace_of_any_name(
    config: Path, tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(tmp_path / "mine")) as foreign:
        foreign.execute("CREATE TABLE theirs (x)")
    assert main(["run", str(config), "--set", "loop.epochs=1", "--workspace", str(tmp_path / name)]) == 0
    assert "Warning" not in capfd.readouterr().err
    assert list(rows(tmp_path / name).values()) == ["completed"]
    with closing(sqlite3.connect(tmp_path / "mine")) as foreign:
        assert foreign.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"mine", name, config.name})


def test_a_workspace_whose_name_is_no_text_has_an_index(
    config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    workspace = os.fsdecode(os.fsencode(tmp_path) + b"/a\xff\xfeb")
    try:
        Path(workspace).mkdir()
    except OSError:
        pytest.skip("this disk takes no such name")
    assert main(["run", str(config), "--set", "loop.epochs=1", "--workspace", workspace]) == 0
    assert r"in " + str(tmp_path) + r"/a\udcff\udcfeb/runs/" in capfd.readouterr().err
    assert main(["runs", "--workspace", workspace, "--json"]) == 0
    (record,) = json.loads(capfd.readouterr().out)["runs"]
    assert list(rows(Path(workspace)).items()) == [(record["run"], "completed")]
    assert Path(record["folder"]).parent == Path(workspace) / "runs"


@pytest.mark.usefixtures("tried_once")
@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mssql+pymssql://user@host/runs", "No module named 'pymssql'"),
        (
            "postgresql://user@host/runs",
            "the driver of PostgreSQL is missing; install it: pip install trainwright[postgresql]",
        ),
        ("postgresql+pg8000://user@host:port/runs", "invalid literal for int() with base 10: 'port'"),
    ],
)
def test_a_database_without_its_driver_fails_no_run(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, url: str, why: str
) -> None:
    monkeypatch.setenv("TRAINWRIGHT_INDEX", url)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    workspace = ["--workspace", str(tmp_path / "w")]
    assert main(["run", str(config), "--set", "loop.epochs=1", *workspace]) == 0
    told = [record.message for record in caplog.records]
    assert set(told) == {f"The index of runs cannot be used, the folders are read instead: {why}"}
    assert main(["runs", *workspace]) == 0
    assert [record.status for record in Index(tmp_path / "w").runs()] == ["completed"]


def test_programs_that_make_the_index_at_once_all_use_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for attempt in range(5):
        workspace = tmp_path / str(attempt)
        (workspace / "runs").mkdir(parents=True)
        together = threading.Barrier(8)

        def look(place: Path = workspace, together: threading.Barrier = together) -> None:
            together.wait()
            Index(place).runs()

        threads = [threading.Thread(target=look) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert caplog.messages == []
