"""A workspace of many runs: looking again costs little, and what is remembered stays true to the folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from training.config import parse_config
from training.runs import folder as folder_module
from training.runs.folder import RunFolder, create_run, delete_run
from training.runs.index import Index
from training.runs.workspace import find_run, run_folders

COUNT = 60


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for number in range(COUNT):
        folder = create_run(tmp_path, parse_config({"name": f"run {number % 10}"}))
        folder.write_status(folder.status().model_copy(update={"status": "completed", "step": number}))
    return tmp_path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Which records were read from the folders."""
    paths: list[Path] = []
    read_json = folder_module.read_json

    def counted(path: Path, *most: int) -> object:
        paths.append(path)
        return read_json(path, *most)

    monkeypatch.setattr(folder_module, "read_json", counted)
    return paths


@pytest.fixture
def statements() -> Callable[[], list[str]]:
    """What databases were asked since the last call."""
    said: list[str] = []

    @event.listens_for(Engine, "before_cursor_execute")
    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        said.append(statement)

    def take() -> list[str]:
        taken, said[:] = list(said), []
        return taken

    return take


def steps(index: Index) -> list[int]:
    return [record.step for record in index.runs()]


def test_looking_again_reads_no_record_and_asks_no_database(
    workspace: Path, read: list[Path], statements: Callable[[], list[str]]
) -> None:
    index = Index(workspace)
    first = index.runs()
    assert [record.step for record in first] == list(reversed(range(COUNT)))
    assert sum("INSERT INTO run_records" in statement for statement in statements()) == 1  # one for all of them
    read.clear()
    index.close()
    again = index.runs()
    assert [id(record) for record in again] == [id(record) for record in first]
    assert (read, statements()) == ([], [])
    changed = run_folders(workspace)[7]
    changed.write_status(changed.status().model_copy(update={"step": 1000}))
    read.clear()
    assert 1000 in steps(index)
    assert read == [changed.status_file]
    index.close()
    fresh = Index(workspace)  # another process
    read.clear()
    assert steps(fresh) == steps(index)
    assert read == []
    fresh.close()


def test_what_is_remembered_follows_the_folders(workspace: Path) -> None:
    index = Index(workspace)
    before = index.runs()
    folders = run_folders(workspace)
    delete_run(folders[3])
    new = create_run(workspace, parse_config({"name": "new"}))
    working = folders[5]
    working.write_status(working.status().model_copy(update={"status": "running"}))
    ids = [record.run for record in index.runs()]
    assert ids == [new.id, *(record.run for record in before if record.run != folders[3].id)]
    statuses = {record.run: record.status for record in index.runs()}
    assert statuses[working.id] == "interrupted"  # read afresh: it says running, and nobody works on it
    index.close()
    fresh = Index(workspace)
    assert [record.run for record in fresh.runs()] == ids
    fresh.close()


def test_a_run_is_found_without_reading_the_others(workspace: Path, read: list[Path]) -> None:
    folders = run_folders(workspace)
    assert find_run(folders[11].id, workspace) == folders[11]
    assert read == []
    assert find_run("run 8", workspace) == folders[-2]  # the newest of that name
    assert read == [folders[-1].status_file, folders[-2].status_file]


def test_folders_are_listed_in_the_order_they_were_made(workspace: Path) -> None:
    folders = run_folders(workspace)
    assert [json.loads(folder.status_file.read_text())["step"] for folder in folders] == list(range(COUNT))
    lost = folders[4]
    lost.config_file.unlink()
    (workspace / "runs" / "no-run").mkdir()
    (workspace / "runs" / "a file").write_text("")
    assert {folder.id for folder in run_folders(workspace)} == {folder.id for folder in folders}
    assert run_folders(workspace / "nothing here") == []
    assert isinstance(lost, RunFolder)
