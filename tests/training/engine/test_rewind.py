"""Going back to an older checkpoint in the same run: nothing that was trained is lost by it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from tests.training.engine.going_back import OFTEN, state, steps, trained
from tests.training.engine.stopping import stopping_at, stopping_at_once
from tests.training.tiny import tiny
from training.cli import main
from training.engine.runs.run import Hooks, resume_run, start_run
from training.errors import InputError
from training.events import Event, Finding
from training.runs import set_aside
from training.runs.folder import RunFolder, claim, release
from training.runs.records.evaluation import read_evaluation
from training.runs.records.history import read_history
from training.runs.records.manifest import LAST, list_checkpoints, read_labels, verify
from training.runs.records.series import STEP_ROW, SeriesWriter, read_series
from training.runs.rewind import clear, finish_rewind, list_set_aside, look_beyond, restore, rewind
from training.runs.set_aside import SET_ASIDE
from training.runs.workspace import teacher_checkpoint


def refuse_to_link(*_paths: object) -> None:
    raise PermissionError(1, "Operation not permitted")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Of 24 steps, with a checkpoint every four; three are kept."""
    return trained(tmp_path)


@pytest.mark.parametrize("links", [True, False])
def test_what_lies_beyond_is_set_aside_and_comes_back_to_the_bit(
    tmp_path: Path, folder: RunFolder, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the checkpoint gone back to, which the new stretch tidies away; and on disks that know no links."""
    if not links:
        monkeypatch.setattr(os, "link", refuse_to_link)
    before, whole = state(folder), read_series(folder.series_file)
    oldest = list_checkpoints(folder)[-1]
    assert resume_run(str(oldest.path), tmp_path, ["checkpoints.keep_last=1"]).status == "completed"
    assert oldest.step not in steps(folder)
    [aside] = list_set_aside(folder)
    assert (aside.name, aside.step, aside.reached) == ("steps-17-24", 16, 24)
    assert read_series(aside.path / "series.bin").tobytes() == whole.tobytes()
    assert aside.size > sum(info.size for info in list_checkpoints(RunFolder(aside.path)) if info.step > 16)
    after = state(folder)
    assert after != before

    newer = restore(folder, aside)
    assert state(folder) == before
    assert newer is not None
    assert (newer.step, newer.reached) == (16, 24)
    assert list_set_aside(folder) == [newer]

    assert restore(folder, newer) is not None
    assert state(folder) == after
    [left] = list_set_aside(folder)
    assert clear(folder, left) == left.size
    assert state(folder) == after
    assert not (folder.path / SET_ASIDE).exists()


def test_after_going_back_the_run_is_the_same_to_the_bit(tmp_path: Path, folder: RunFolder) -> None:
    rows = folder.series_file.read_bytes()
    files = {info.name: verify(info.path).files for info in list_checkpoints(folder)}
    best, labels = folder.status().best, read_labels(folder)
    resume_run(str(folder.checkpoints / "step-00000016"), tmp_path)
    assert folder.series_file.read_bytes() == rows
    assert {info.name: verify(info.path).files for info in list_checkpoints(folder)} == files
    assert (folder.status().best, read_labels(folder)) == (best, labels)
    history = read_history(folder.events_file)
    assert [item.step for item in history.validations] == [8, 16, 24]


def test_what_is_set_aside_counts_for_neither_best_nor_keep_last(tmp_path: Path) -> None:
    folder = trained(tmp_path, OFTEN, "checkpoints.keep_last=9")
    record = resume_run(str(folder.checkpoints / "step-00000012"), tmp_path, hooks=stopping_at(16))
    assert record.status == "stopped"
    assert max(steps(folder)) == record.step == len(read_series(folder.series_file)) < 24
    assert record.best is not None
    assert record.best.step <= record.step
    assert set(read_labels(folder).values()) <= {info.name for info in list_checkpoints(folder)}
    assert read_labels(folder)[LAST] == max(info.name for info in list_checkpoints(folder))
    measured = read_evaluation(folder, "validation")
    assert measured is not None
    assert record.best is not None
    assert measured.step == record.best.step
    history = read_history(folder.events_file)
    assert max(item.step for item in history.validations) <= record.step
    [found] = [item for item in history.findings if "Rewound" in item.title]
    assert found.title == "Rewound from step 24 to step 12; steps 13 to 24 are set aside."
    assert f"restore {folder.id} in a terminal" in found.advice
    assert resume_run(str(folder.path), tmp_path).status == "completed"  # goes on where it stands
    assert len(list_set_aside(folder)) == 1


def test_what_is_told_beforehand_is_the_room_it_takes(folder: RunFolder) -> None:
    folder.profile_file.write_text("{}" * 5000)  # stays in the run
    beyond = look_beyond(folder, list_checkpoints(folder)[-1].path)
    assert beyond is not None
    claim(folder.path)
    aside = rewind(folder, beyond)
    release(folder.path)
    assert aside.size == beyond.size


def test_the_last_checkpoint_goes_on_at_once(tmp_path: Path) -> None:
    folder = trained(tmp_path, OFTEN)
    newest = list_checkpoints(folder)[0]
    assert look_beyond(folder, newest.path) is None
    resume_run(str(newest.path), tmp_path)
    assert list_set_aside(folder) == []


def test_steps_that_no_checkpoint_holds_are_done_again(tmp_path: Path) -> None:
    """As a kill leaves them."""
    folder = RunFolder(Path(start_run(tiny(OFTEN), tmp_path, stopping_at(16)).folder))
    newest, rows = list_checkpoints(folder)[0], read_series(folder.series_file)
    writer = SeriesWriter(folder.series_file, STEP_ROW)
    writer.append(rows[-2:])
    writer.close()
    resume_run(str(newest.path), tmp_path)
    assert list_set_aside(folder) == []


def test_a_damaged_newer_checkpoint_is_passed_over_as_ever(tmp_path: Path, folder: RunFolder) -> None:
    (folder.checkpoints / "step-00000024" / "state.pt").write_bytes(b"")
    said: list[Event] = []
    resume_run(str(folder.path), tmp_path, hooks=Hooks(watch=said.append))
    titles = [event.title for event in said if isinstance(event, Finding)]
    assert titles == ["A newer checkpoint is damaged, so the run goes on from step 20."]
    assert list_set_aside(folder) == []


def test_a_completed_run_whose_last_checkpoint_is_gone_keeps_its_end(tmp_path: Path, folder: RunFolder) -> None:
    last = folder.checkpoints / "step-00000024"
    for path in last.iterdir():
        path.unlink()
    last.rmdir()
    before = state(folder)
    resume_run(str(folder.checkpoints / "step-00000020"), tmp_path)
    restore(folder, list_set_aside(folder)[0])
    assert state(folder) == before


def test_nothing_moves_when_the_resume_is_refused(tmp_path: Path, folder: RunFolder) -> None:
    text = folder.config_file.read_text()
    folder.config_file.write_text(text.replace("split_seed = 0", "split_seed = 7"))
    series, checkpoints = folder.series_file.read_bytes(), steps(folder)
    with pytest.raises(InputError, match="split"):
        resume_run(str(folder.checkpoints / "step-00000016"), tmp_path)
    assert (folder.series_file.read_bytes(), steps(folder)) == (series, checkpoints)
    assert not (folder.path / SET_ASIDE).exists()


def test_a_branch_without_a_checkpoint_finds_the_one_it_began_with_where_it_was_set_aside(
    tmp_path: Path, folder: RunFolder
) -> None:
    begun = resume_run(str(folder.checkpoints / "step-00000020"), tmp_path, hooks=stopping_at_once(), branch=True)
    resume_run(str(folder.checkpoints / "step-00000016"), tmp_path, hooks=stopping_at_once())
    branch = RunFolder(Path(begun.folder))
    assert resume_run(branch.id, tmp_path).status == "completed"
    assert branch.series_file.read_bytes() == (list_set_aside(folder)[0].path / "series.bin").read_bytes()
    titles = [item.title for item in read_history(branch.events_file).findings]
    assert any(title.startswith(f"Branched from step 20 of {folder.id}.") for title in titles)


@pytest.mark.parametrize("moved", [False, True])
def test_a_fault_after_the_way_back_has_begun_is_not_told_as_if_nothing_had_moved(
    tmp_path: Path, folder: RunFolder, moved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in what the refusal says nor in the record that it leaves, also where all files are in their ``moved`` places."""

    def fail(place: Path) -> None:
        if not moved or json.loads(folder.status_file.read_text())["step"] == 16:
            raise OSError(5, "Input/output error")

    rename = Path.rename

    def fail_from_then_on(self: Path, target: Path) -> Path:
        if target.parent.name == SET_ASIDE:
            patch.setattr(set_aside, "sync_folder", fail)
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", fail_from_then_on)
        with pytest.raises(InputError, match="half-way between two of its states"):
            resume_run(str(folder.checkpoints / "step-00000016"), tmp_path)
    finish_rewind(folder)
    record = folder.status()
    assert record.best is not None
    assert (record.status, record.step, record.best.step) == ("interrupted", 16, 16)
    assert resume_run(folder.id, tmp_path).status == "completed"
    assert len(list_set_aside(folder)) == 1


def test_the_command_line_says_it_branches_restores_and_clears(
    tmp_path: Path, config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINWRIGHT_WORKSPACE", str(tmp_path))
    assert main(["run", str(config), "--json"]) == 0
    run = json_line(capsys)
    folder = RunFolder(Path(run["folder"]))
    before, old = state(folder), str(folder.checkpoints / "step-00000016")

    assert main(["resume", old, "--dry-run"]) == 0
    assert "note      steps 17 to 24 are set aside in the run's folder (" in capsys.readouterr().err
    assert main(["resume", old, "--branch", "--json"]) == 0
    branch = json_line(capsys)
    assert branch["run"] != run["run"]
    assert branch["step"] == 24
    parent = RunFolder(Path(branch["folder"])).status().parent
    assert parent is not None
    assert parent.checkpoint == old
    assert state(folder) == before

    assert main(["resume", old, "--json"]) == 0
    told = capsys.readouterr().err
    assert "Rewound from step 24 to step 16; steps 17 to 24 are set aside. They take " in told
    assert f"python -m training restore {run['run']} in a terminal" in told
    assert main(["show", run["run"]]) == 0
    assert "set aside  steps-17-24  steps 17 to 24  " in capsys.readouterr().out
    assert main(["show", run["run"], "--json"]) == 0
    [shown] = json_line(capsys)["set_aside"]
    assert (shown["name"], shown["step"], shown["reached"]) == ("steps-17-24", 16, 24)
    assert main(["restore", run["run"], "--list"]) == 0
    assert "steps-17-24" in capsys.readouterr().out

    inside = folder.path / SET_ASIDE / "steps-17-24"
    for target in (inside, inside / "checkpoints" / "step-00000024"):
        assert main(["resume", str(target)]) == 2
        assert f"bring it back first: python -m training restore {folder.path} steps-17-24" in capsys.readouterr().err
    assert main(["restore", run["run"], "steps-1-2"]) == 2
    assert "set aside nothing called steps-1-2; there is steps-17-24." in capsys.readouterr().err

    assert main(["restore", run["run"], "--json"]) == 0
    assert "What it had trained since is set aside as steps-17-24-2." in capsys.readouterr().err
    assert state(folder) == before
    assert main(["restore", run["run"], "--clear", "--json"]) == 0
    cleared = json_line(capsys)
    assert cleared["freed"] > 0
    assert cleared["set_aside"] == []
    assert main(["restore", run["run"]]) == 2
    assert "has set aside nothing." in capsys.readouterr().err


@pytest.mark.parametrize("reader", ["export of the run", "export of a checkpoint", "teacher"])
def test_whoever_reads_a_run_that_was_left_half_way_finds_it_whole(
    tmp_path: Path, folder: RunFolder, reader: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """As a kill leaves it between two renames: without a folder of checkpoints, and with the labels of before."""
    rename, older = Path.rename, folder.checkpoints / "step-00000016"

    def refuse(self: Path, target: Path) -> Path:
        if target == folder.checkpoints:
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        with pytest.raises(InputError, match="half-way between two of its states"):
            resume_run(str(older), tmp_path)
    assert not folder.checkpoints.exists()
    if reader == "teacher":
        assert teacher_checkpoint(folder.path) == older
    else:
        target = folder.path if reader == "export of the run" else older
        assert main(["export", str(target), "--to", "safetensors", "--out", str(tmp_path / "model.safetensors")]) == 0
        assert "is taken instead" not in capsys.readouterr().err
    assert steps(folder) == [16]
    assert [(item.step, item.reached) for item in list_set_aside(folder)] == [(16, 24)]
