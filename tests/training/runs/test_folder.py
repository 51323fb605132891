"""Run folders: creation, ownership, status, being found, and the index that can be rebuilt from them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from training.config import RunConfig
from training.errors import InputError, RunBusyError
from training.runs.folder import RunFolder, claim, create_run, delete_run, owner_of, release
from training.runs.index import Index
from training.runs.workspace import find_run, find_target


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return create_run(tmp_path, RunConfig(name="My Run"))


def test_config_in_the_folder_is_the_one_that_ran(run: RunFolder) -> None:
    assert run.config() == RunConfig(name="My Run")
    assert run.id.startswith("my-run-")


def test_status_says_interrupted_when_nobody_works_on_it(run: RunFolder) -> None:
    run.write_status(run.status() | {"status": "running"})
    assert run.status()["status"] == "interrupted"
    claim(run)
    assert run.status()["status"] == "running"
    release(run)
    assert run.status()["status"] == "interrupted"


def test_of_two_processes_that_start_at_once_one_is_told_of_the_other(run: RunFolder) -> None:
    claiming = (
        "import sys; from pathlib import Path; from training.runs import folder; real = folder.owner_of\n"
        "def slow(run):\n    owner = real(run); print('looked', flush=True); sys.stdin.readline(); return owner\n"
        "folder.owner_of = slow; folder.claim(folder.RunFolder(Path(sys.argv[1]))); print('claimed', flush=True)\n"
        "sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", claiming, str(run.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "looked\n"  # it saw nobody, and has not said so yet
        told: list[BaseException | None] = []

        def try_to() -> None:
            try:
                claim(run)
                told.append(None)
            except RunBusyError as error:
                told.append(error)

        mine = threading.Thread(target=try_to)
        mine.start()
        mine.join(0.3)
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline() == "claimed\n"
        mine.join(30)
        other.communicate("\n")
    assert str(other.pid) in str(told[0])


@pytest.mark.parametrize("content", [None, "", "{", '{"status": "running"}'])
def test_a_run_whose_status_was_lost_is_still_listed(run: RunFolder, content: str | None) -> None:
    index = Index(run.path.parent.parent)
    run.write_status(run.status() | {"status": "completed"})
    assert [record["status"] for record in index.runs()] == ["completed"]
    if content is None:
        run.status_file.unlink()
    else:
        run.status_file.write_text(content)
        os.utime(run.status_file, (2e9, 2e9))
    [record] = index.runs()
    index.close()
    assert (record["run"], record["name"], record["status"]) == (run.id, "My Run", "interrupted")
    assert find_run("My Run", run.path.parent.parent) == run


def test_a_renamed_folder_is_called_by_its_new_name(run: RunFolder) -> None:
    moved = RunFolder(run.path.rename(run.path.with_name("renamed")))
    assert moved.status()["run"] == "renamed"


def test_a_process_id_used_again_is_no_owner(run: RunFolder) -> None:
    started = psutil.Process().create_time()
    record = {"pid": os.getpid(), "started": started - 1000.0, "host": socket.gethostname()}
    (run.path / "owner.json").write_text(json.dumps(record))
    assert owner_of(run) is None


def test_a_run_at_work_is_neither_claimed_nor_deleted(run: RunFolder) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        started = psutil.Process(other.pid).create_time()
        record = {"pid": other.pid, "started": started, "host": socket.gethostname()}
        (run.path / "owner.json").write_text(json.dumps(record))
        with pytest.raises(RunBusyError, match=str(other.pid)):
            claim(run)
        with pytest.raises(RunBusyError, match=str(other.pid)):
            delete_run(run)
        other.communicate(b"\n")
    delete_run(run)
    assert not run.path.exists()


def test_a_run_is_found_by_folder_id_beginning_and_name(tmp_path: Path, run: RunFolder) -> None:
    for text in (str(run.path), run.id, run.id[:12], "My Run"):
        assert find_run(text, tmp_path).id == run.id
    with pytest.raises(InputError, match="no such run"):
        find_run("nothing", tmp_path)
    with pytest.raises(InputError, match="holds no run"):
        find_run(str(tmp_path), tmp_path)


def test_a_checkpoint_outside_a_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lonely").mkdir()
    (tmp_path / "lonely" / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="outside a run"):
        find_target(str(tmp_path / "lonely"), tmp_path)


def test_index_follows_the_folders(tmp_path: Path, run: RunFolder) -> None:
    index = Index(tmp_path)
    assert [record["run"] for record in index.runs()] == [run.id]
    second = create_run(tmp_path, RunConfig(name="second"))
    assert {record["run"] for record in index.runs()} == {run.id, second.id}
    delete_run(run)
    assert [record["run"] for record in index.runs()] == [second.id]
    index.close()


def test_a_damaged_index_is_set_aside_and_made_anew(tmp_path: Path, run: RunFolder) -> None:
    (tmp_path / "index.sqlite").write_bytes(b"this is not a database" * 100)
    index = Index(tmp_path)
    assert [record["run"] for record in index.runs()] == [run.id]
    assert index.rebuild() == 1
    index.close()
    assert (tmp_path / "index.damaged").exists()


def test_an_unwritable_workspace_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot be written"):
        create_run(tmp_path / "file", RunConfig())


def test_an_index_that_cannot_be_opened_is_not_taken_for_damaged(run: RunFolder) -> None:
    database = run.path.parent.parent / "index.sqlite"
    database.mkdir()
    index = Index(run.path.parent.parent)
    assert [record["run"] for record in index.runs()] == [run.id]
    index.close()
    assert database.is_dir()
