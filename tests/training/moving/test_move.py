"""A workspace in another folder: whole or not at all, and all that works in it works there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from tests.training.tiny import tiny
from training.cli import main
from training.errors import Canceled, InputError
from training.moving.move import MoveProgress, delete_old, finish_move, move_workspace
from training.moving.plan import MARK, MovePlan, make_plan
from training.moving.windows import forget_window, record_window
from training.queue.store import Queue
from training.runs.folder import RunFolder, create_run
from training.runs.index.index import Index
from training.runs.owner import claim, release
from training.runs.relocation import config_here
from training.studies.folder import PLAN, STUDIES

Tree = dict[str, bytes | str]


@pytest.fixture
def workspace(isolated_home: Path) -> Path:
    """With two runs, whose order is their configurations' times, an empty folder, a link and a lock that nobody holds."""
    workspace = isolated_home / "workspace"
    teacher = create_run(workspace, tiny("name=teacher"))
    (teacher.checkpoints / "step-00000004").mkdir()
    (teacher.path / "series.bin").write_bytes(os.urandom(70_000))
    create_run(workspace, tiny("name=pupil", "objective.kind=distillation", f"objective.teacher={teacher.path}"))
    (workspace / "exports").mkdir()
    (workspace / "link").symlink_to("runs")
    (workspace / "queue").mkdir()
    (workspace / "queue" / ".lock").touch()
    return workspace


def read_tree(folder: Path) -> Tree:
    """All of it but what is made again."""
    found: Tree = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_file() and not name.endswith(".lock"):
            found[name] = path.read_bytes()
    return found


def plan_copy(workspace: Path, target: Path) -> MovePlan:
    """As to another disk."""
    return replace(make_plan(workspace, target), same_disk=False)


def names_of_runs(workspace: Path) -> list[str]:
    index = Index(workspace)
    found = [record.name for record in index.runs()]
    index.close()
    return found


def pupil_of(workspace: Path) -> RunFolder:
    return RunFolder(next((workspace / "runs").glob("pupil-*")))


def check_moved(before: Tree, target: Path) -> None:
    after = read_tree(target)
    places = {name: after.pop(name) for name in list(after) if name.endswith("places.json")}
    assert after == before
    assert len(places) == 1
    assert names_of_runs(target) == ["pupil", "teacher"]
    named = getattr(config_here(pupil_of(target)).objective, "teacher", "")
    assert Path(named).parent == target / "runs"
    assert Path(named).is_dir()


def test_on_the_same_disk_it_is_renamed(workspace: Path, tmp_path: Path) -> None:
    before, target = read_tree(workspace), tmp_path / "new" / "place"
    plan = make_plan(workspace, target)
    assert plan.same_disk
    assert plan.files == len([each for each in before.values() if isinstance(each, bytes)])
    assert not move_workspace(plan)
    assert not workspace.exists()
    check_moved(before, target)


def test_to_another_disk_it_is_copied_and_compared(workspace: Path, tmp_path: Path) -> None:
    before, target = read_tree(workspace), tmp_path / "empty"
    target.mkdir()
    stages: list[str] = []
    plan = plan_copy(workspace, target)
    assert "another disk" in plan.words
    assert move_workspace(plan, lambda progress: stages.append(progress.stage))
    assert list(dict.fromkeys(stages)) == ["Copying", "Comparing"]
    assert read_tree(workspace) == before
    assert (target / "exports").is_dir()
    check_moved(before, target)
    delete_old(plan)
    assert not workspace.exists()
    assert names_of_runs(target) == ["pupil", "teacher"]


def test_an_old_folder_that_somebody_worked_in_since_is_not_deleted(workspace: Path, tmp_path: Path) -> None:
    plan = plan_copy(workspace, tmp_path / "place")
    move_workspace(plan)
    late = workspace / "runs" / "late"
    late.mkdir()
    (late / "config.toml").write_text("")
    with pytest.raises(InputError, match=r"late.*made or changed after"):
        delete_old(plan)
    assert (late / "config.toml").is_file()
    shutil.rmtree(late)
    changed = next(path for path in workspace.glob("runs/*/config.toml"))
    later = changed.stat().st_mtime + 60
    os.utime(changed, (later, later))
    with pytest.raises(InputError, match=r"config\.toml.*made or changed after"):
        delete_old(plan)
    assert changed.is_file()


@pytest.mark.parametrize("stage", ["Copying", "Comparing"])
def test_a_canceled_copy_leaves_nothing(workspace: Path, tmp_path: Path, stage: str) -> None:
    before, target, seen = read_tree(workspace), tmp_path / "deep" / "place", set[str]()
    with pytest.raises(Canceled, match="where it was"):
        move_workspace(plan_copy(workspace, target), lambda progress: seen.add(progress.stage), lambda: stage in seen)
    assert read_tree(workspace) == before
    assert not (tmp_path / "deep").exists()


def test_a_file_that_changes_meanwhile_is_found(workspace: Path, tmp_path: Path) -> None:
    target, series = tmp_path / "place", next(workspace.glob("runs/teacher-*/series.bin"))

    def write(progress: MoveProgress) -> None:
        if progress.stage == "Comparing" and progress.done == 0:
            pass
        if progress.stage == "Comparing":
            series.write_bytes(b"other")

    with pytest.raises(InputError, match=r"series\.bin: is not what lies in the old workspace"):
        move_workspace(plan_copy(workspace, target), write)
    assert not target.exists()
    assert series.read_bytes() == b"other"


def test_a_disk_that_fills_up_leaves_nothing(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, target = read_tree(workspace), tmp_path / "place"
    target.mkdir()

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("training.moving.move.os.fsync", fail)
        with pytest.raises(InputError, match="No space left on device, so the workspace was not moved"):
            move_workspace(plan_copy(workspace, target))
    assert read_tree(workspace) == before
    assert list(target.iterdir()) == []


KILLED = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
from training.moving.move import move_workspace
from training.moving.plan import make_plan
plan = replace(make_plan(Path(sys.argv[1]), Path(sys.argv[2])), same_disk=False)
move_workspace(plan, lambda progress: progress.stage == sys.argv[3] and os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is what Unix has")
@pytest.mark.parametrize("stage", ["Copying", "Comparing"])
def test_a_killed_copy_is_begun_again_over_what_it_left(workspace: Path, tmp_path: Path, stage: str) -> None:
    before, target = read_tree(workspace), tmp_path / "place"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(workspace), str(target), stage], check=False)
    assert killed.returncode == -9
    assert read_tree(workspace) == before
    assert (target / MARK).is_file()
    assert move_workspace(plan_copy(workspace, target))
    check_moved(before, target)


def test_what_a_person_put_beside_leftovers_is_left_alone(workspace: Path, tmp_path: Path) -> None:
    target = tmp_path / "place"
    target.mkdir()
    (target / MARK).write_text(json.dumps({"from": str(workspace), "names": ["runs"]}), encoding="utf-8")
    (target / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="is not empty"):
        make_plan(workspace, target)


def test_a_rename_that_was_killed_is_finished(workspace: Path, tmp_path: Path, capsys: Captured) -> None:
    before, target = read_tree(workspace), tmp_path / "place"
    (workspace / MARK).write_text(json.dumps({"from": str(workspace), "to": str(target)}), encoding="utf-8")
    assert finish_move(workspace)  # killed just before
    assert read_tree(workspace) == before
    (workspace / MARK).write_text(json.dumps({"from": str(workspace), "to": str(target)}), encoding="utf-8")
    workspace.rename(target)
    assert main(["workspace", "move", str(target), "--yes", "--json"]) == 0
    assert json_line(capsys)["moved"] is True
    check_moved(before, target)
    assert not finish_move(target)


def test_what_is_no_place_for_it_is_refused(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    file = tmp_path / "file"
    file.touch()
    for target, why in (
        (workspace, "is where the workspace is already"),
        (workspace / "runs" / "inside", "lies inside the workspace"),
        (workspace.parent, "is not empty"),
        (file, "is no folder"),
    ):
        assert main(["workspace", "move", str(target), "--yes"]) == 2
        assert why in capsys.readouterr().err
    assert main(["workspace", "move", str(tmp_path / "new"), "--workspace", str(tmp_path / "none"), "--yes"]) == 2
    assert "nothing to move" in capsys.readouterr().err
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage(10, 9, 2000))
    with pytest.raises(
        InputError, match=r"are needed and 2 kB are free; free some space there, or choose another disk"
    ):
        move_workspace(plan_copy(workspace, tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_what_is_at_work_is_named(workspace: Path, tmp_path: Path, capsys: Captured) -> None:
    run = pupil_of(workspace)
    claim(run.path)
    assert main(["workspace", "move", str(tmp_path / "new"), "--yes"]) == 2
    assert f"cannot be moved now: the run {run.id} is at work" in capsys.readouterr().err
    release(run.path)
    with Queue(workspace).change():
        assert main(["workspace", "move", str(tmp_path / "new"), "--yes"]) == 2
    assert "queue" in capsys.readouterr().err
    assert main(["workspace", "move", str(tmp_path / "new"), "--plan", "--json"]) == 0
    assert json_line(capsys)["moved"] is False
    assert not (tmp_path / "new").exists()


def test_a_window_of_another_process_that_has_it_open_is_named(
    workspace: Path, tmp_path: Path, capsys: Captured
) -> None:
    program = (
        f"from training.moving.windows import *; record_window(Path({str(workspace)!r})); print(flush=True); input()"
    )
    command, target = [sys.executable, "-c", program], tmp_path / "new"
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as window:
        assert window.stdout is not None
        window.stdout.readline()
        assert main(["workspace", "move", str(target), "--yes"]) == 2
        said = capsys.readouterr().err
        assert f"a window has it open (process {window.pid} on " in said
        assert "close that window, or move the workspace there, in Preferences, Storage" in said
        assert not target.exists()
        window.kill()
    record_window(workspace)  # a window moves its own
    forget_window()
    assert main(["workspace", "move", str(target), "--yes"]) == 0  # what was killed is in nobody's way
    assert (target / "runs").is_dir()


def test_what_is_still_to_be_trained_finds_its_files(workspace: Path, tmp_path: Path) -> None:
    teacher = next((workspace / "runs").glob("teacher-*"))
    wanted = tiny("name=later", "objective.kind=distillation", f"objective.teacher={teacher}")
    entry = Queue(workspace).add(wanted)
    study = workspace / STUDIES / "seeds-1"
    study.mkdir(parents=True)
    (study / PLAN).write_text(json.dumps({"options": {"file": f"{workspace}/list.txt", "word": "as is"}}))
    sweep = workspace / "sweeps" / "one" / "sweep.json"
    sweep.parent.mkdir(parents=True)
    sweep.write_text(json.dumps({"storage": f"sqlite:///{workspace}/trials.db", "name": str(workspace) + "-beside"}))
    target = tmp_path / "na\u00efve place"
    move_workspace(make_plan(workspace, target))
    queued = Queue(target).folder_of(entry).config()
    assert getattr(queued.objective, "teacher", "") == str(target / "runs" / teacher.name)
    options = json.loads((target / STUDIES / "seeds-1" / PLAN).read_text(encoding="utf-8"))["options"]
    assert options == {"file": f"{target}/list.txt", "word": "as is"}
    told = json.loads((target / "sweeps" / "one" / "sweep.json").read_text(encoding="utf-8"))
    assert told == {"storage": f"sqlite:///{target}/trials.db", "name": str(workspace) + "-beside"}
