"""Run folders: creation, ownership, status, being found, and the index that can be rebuilt from them."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from training.cli import main
from training.config import RunConfig
from training.errors import InputError
from training.events import AttemptStarted, Failed, Validated
from training.runs.folder import RunFolder, claim, create_run, delete_run, release
from training.runs.index import Index
from training.runs.records.forms import StatusRecord
from training.runs.records.history import EventLog
from training.runs.workspace import find_run, find_target, run_folders

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return create_run(tmp_path, RunConfig(name="My Run"))


def test_config_in_the_folder_is_the_one_that_ran(run: RunFolder) -> None:
    assert run.config() == RunConfig(name="My Run")
    assert run.id.startswith("my-run-")


def test_status_says_interrupted_when_nobody_works_on_it(run: RunFolder) -> None:
    run.write_status(run.status().model_copy(update={"status": "running"}))
    assert run.status().status == "interrupted"
    claim(run.path)
    assert run.status().status == "running"
    release(run.path)
    assert run.status().status == "interrupted"


def test_a_run_that_ends_while_its_status_is_read_is_not_called_interrupted(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim(run.path)
    run.write_status(run.status().model_copy(update={"status": "running"}))

    def owner_of_one_that_ends(asked: Path) -> None:
        run.write_status(StatusRecord(run=run.id, status="completed", step=7))
        release(asked)

    monkeypatch.setattr("training.runs.folder.owner_of", owner_of_one_that_ends)
    assert run.status().status == "completed"


@pytest.mark.parametrize("content", [None, "", "{", '{"status": "running"}'])
def test_a_run_whose_status_was_lost_is_still_listed(run: RunFolder, content: str | None) -> None:
    index = Index(run.path.parent.parent)
    run.write_status(run.status().model_copy(update={"status": "completed"}))
    assert [record.status for record in index.runs()] == ["completed"]
    if content is None:
        run.status_file.unlink()
    else:
        run.status_file.write_text(content)
        os.utime(run.status_file, (2e9, 2e9))
    [record] = index.runs()
    index.close()
    assert (record.run, record.name, record.status) == (run.id, "My Run", "interrupted")
    assert find_run("My Run", run.path.parent.parent) == run


def test_a_lost_status_is_told_again_by_the_history(run: RunFolder) -> None:
    log = EventLog(run.events_file)
    log.emit(AttemptStarted(attempt=1, step=0, total_steps=90, steps_per_epoch=30, epochs=3, device="cpu"))
    log.emit(Validated(step=30, epoch=1, metrics={"val/accuracy": 0.75}, improved=True))
    log.emit(Validated(step=60, epoch=2, metrics={"val/accuracy": 0.5}, improved=False))
    run.labels_file.parent.mkdir(exist_ok=True)
    run.labels_file.write_text('{"last": "step-00000060", "best": "step-00000030"}')
    run.status_file.write_text("no JSON")
    found = run.status()
    assert (found.status, found.step, found.epoch, found.total_steps) == ("interrupted", 60, 2, 90)
    assert found.metrics == {"val/accuracy": 0.5}
    assert found.best is not None
    assert (found.best.value, found.best.step) == (0.75, 30)
    assert found.last_checkpoint == str(run.checkpoints / "step-00000060")
    log.emit(Failed(step=77, reason="The loss is NaN.", advice="Lower it.", fix={"optimizer.lr": 0.1}))
    log.close()
    found = run.status()
    assert (found.status, found.step, found.reason, found.fix) == (
        "failed", 77, "The loss is NaN.", {"optimizer.lr": 0.1}
    )  # fmt: skip
    run.events_file.unlink()
    run.events_file.mkdir()
    assert "events.jsonl" in (run.status().reason or "")


def test_a_run_of_which_nothing_can_be_read_is_listed_as_damaged(run: RunFolder, capsys: Captured) -> None:
    workspace = str(run.path.parent.parent)
    run.status_file.write_text("{")
    run.config_file.write_text("kind = ")
    for _ in range(2):  # from the folder, and from the index
        assert main(["runs", "--workspace", workspace]) == 0
        told = capsys.readouterr()
        assert told.out.split() == [run.id, run.id, "damaged"]
        assert told.err.startswith(f"{run.id}: status.json is damaged, and config.toml: not valid TOML: ")
        assert "Bring one of the two files back" in told.err
    assert main(["runs", "--workspace", workspace, "--where", 'status == "damaged"']) == 0
    assert run.id in capsys.readouterr().out
    run.config_file.write_text('name = "mended"')
    assert main(["runs", "--workspace", workspace]) == 0
    assert capsys.readouterr().out.split()[1:3] == ["mended", "interrupted"]
    run.config_file.unlink()
    run.status_file.unlink()
    assert main(["runs", "--workspace", workspace]) == 0
    assert capsys.readouterr().out.startswith("No runs")


def test_a_renamed_folder_is_called_by_its_new_name(run: RunFolder) -> None:
    moved = RunFolder(run.path.rename(run.path.with_name("renamed")))
    assert moved.status().run == "renamed"


def test_a_run_is_found_by_folder_id_beginning_and_name(tmp_path: Path, run: RunFolder) -> None:
    for text in (str(run.path), run.id, run.id[:12], "My Run"):
        assert find_run(text, tmp_path).id == run.id
    with pytest.raises(InputError, match="no such run"):
        find_run("nothing", tmp_path)
    with pytest.raises(InputError, match="did you mean My Run"):
        find_run("My Rnu", tmp_path)
    with pytest.raises(InputError, match="holds no run"):
        find_run(str(tmp_path), tmp_path)


def test_a_checkpoint_outside_a_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lonely").mkdir()
    (tmp_path / "lonely" / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="outside a run"):
        find_target(str(tmp_path / "lonely"), tmp_path)


def test_index_follows_the_folders(tmp_path: Path, run: RunFolder) -> None:
    index = Index(tmp_path)
    assert [record.run for record in index.runs()] == [run.id]
    second = create_run(tmp_path, RunConfig(name="second"))
    assert {record.run for record in index.runs()} == {run.id, second.id}
    delete_run(run)
    assert [record.run for record in index.runs()] == [second.id]
    index.close()


def test_a_damaged_index_is_set_aside_and_made_anew(tmp_path: Path, run: RunFolder) -> None:
    (tmp_path / "index.sqlite").write_bytes(b"this is not a database" * 100)
    index = Index(tmp_path)
    assert [record.run for record in index.runs()] == [run.id]
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
    assert [record.run for record in index.runs()] == [run.id]
    index.close()
    assert database.is_dir()


def test_runs_are_listed_in_the_order_they_were_made_whatever_the_clock_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = create_run(tmp_path, RunConfig(name="same"))
    os.utime(first.config_file, (4e9, 4e9))  # made while the clock stood in another century
    second, third = create_run(tmp_path, RunConfig(name="same")), create_run(tmp_path, RunConfig(name="same"))
    assert run_folders(tmp_path) == [first, second, third]
    assert find_run("same", tmp_path) == third
    index = Index(tmp_path)
    assert [record.run for record in index.runs()] == [third.id, second.id, first.id]
    index.close()
    monkeypatch.setattr("training.runs.folder.time.strftime", lambda _form: "20260101-000000")
    tokens = iter(["ab", "ab", "cd"])
    monkeypatch.setattr("training.runs.folder.secrets", SimpleNamespace(token_hex=lambda _bytes: next(tokens)))
    assert [create_run(tmp_path, RunConfig(name="same")).id[-2:] for _ in range(2)] == ["ab", "cd"]
