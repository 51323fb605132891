"""A study that is planned and begun later, how far it is, and what is left of one that nobody wants."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from filelock import FileLock

from tests.training.commands import Captured, json_line
from training.cli import main
from training.errors import InputError
from training.laboratory.child import Ended
from training.runs.folder import RunFolder
from training.studies import trainer
from training.studies.folder import StudyFolder, list_studies, remove_study
from training.studies.records import Reached


@pytest.fixture
def planned(config: Path, tmp_path: Path, capsys: Captured, in_process: list[str]) -> StudyFolder:
    """Two seeds, not begun."""
    words = ["study", "seeds", str(config), "--seeds", "2", "--plan", "--workspace", str(tmp_path / "ws"), "--json"]
    assert main(words) == 0
    told = json_line(capsys)
    assert told["status"] == "planned"
    assert not in_process
    study = StudyFolder(Path(told["folder"]))
    plan = study.plan()
    assert told["words"] == list(plan.words)
    assert (plan.seconds, plan.bytes) == (told["seconds"], told["bytes"])
    assert plan.seconds > 0.0
    assert plan.bytes > 0
    return study


def test_a_planned_study_is_begun_by_resume(planned: StudyFolder, capsys: Captured, in_process: list[str]) -> None:
    assert not planned.has_begun
    assert main(["study", "--list", "--workspace", str(planned.workspace)]) == 0
    assert f"{planned.id}: planned, not begun" in capsys.readouterr().err
    assert not planned.is_claimed()
    assert main(["study", "--resume", planned.id, "--workspace", str(planned.workspace), "--json"]) == 0
    assert json_line(capsys)["status"] == "completed"
    assert len(in_process) == 2
    assert planned.has_begun
    assert list(planned.runs()) == ["as-is-0", "as-is-1"]


def test_who_only_looks_does_not_work_on_it(planned: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.system.locks._LOOK_SECONDS", 120.0)
    looks = FileLock(planned.path / ".lock", thread_local=False)
    looks.acquire()
    timer = threading.Timer(0.3, looks.release)
    timer.start()
    assert not planned.is_claimed()
    timer.join()


def test_how_far_it_is_can_be_read_while_it_works(
    planned: StudyFolder, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    seen = []
    train = vars(trainer)["train"]

    def look(run: RunFolder, *rest: Any, **named: Any) -> Any:
        seen.append((planned.read_reached(), planned.is_claimed()))
        return train(run, *rest, **named)

    monkeypatch.setattr(trainer, "train", look)
    assert main(["study", "--resume", planned.id, "--workspace", str(planned.workspace)]) == 0
    assert [(reached.done, reached.parts) for reached, _claimed in seen] == [(0, 2), (1, 2)]
    assert all(claimed for _reached, claimed in seen)
    assert seen[1][0].run == planned.runs()["as-is-1"].id
    assert "seed 1" in seen[1][0].words


def test_what_went_wrong_stays_with_it(planned: StudyFolder, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(trainer, "train", lambda *_args, **_named: Ended(1, "Something broke."))
    words = ["study", "--resume", planned.id, "--workspace", str(planned.workspace)]
    assert main(words) == 1
    assert "Something broke." in planned.read_reached().problem
    assert planned.result() is None
    listing = ["study", "--list", "--workspace", str(planned.workspace)]
    assert main(listing) == 0
    assert f"{planned.id}: failed: " in capsys.readouterr().err
    planned.write_reached(Reached(done=1, parts=2, words="tiny seed 1"))
    with planned.claim():
        assert main(listing) == 0
    assert f"{planned.id}: at work: tiny seed 1" in capsys.readouterr().err
    assert main(listing) == 0
    assert f"{planned.id}: stopped before its end" in capsys.readouterr().err


def test_a_full_disk_is_told_before_anything_begins(
    planned: StudyFolder, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=1))
    assert main(["study", "--resume", planned.id, "--workspace", str(planned.workspace)]) == 2
    assert "are needed" in capsys.readouterr().err
    assert not planned.has_begun


def test_it_is_removed_unless_somebody_works_on_it(planned: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.studies.folder._PATIENCE", 0.0)
    with planned.claim(), pytest.raises(InputError, match="another process works on this study"):
        remove_study(planned)
    assert planned.path.is_dir()
    remove_study(planned)
    assert not planned.path.exists()
    assert list_studies(planned.workspace) == []
    assert not list(planned.path.parent.iterdir())


def test_planning_and_going_on_are_not_asked_for_together(tmp_path: Path, capsys: Captured) -> None:
    assert main(["study", "--resume", "x", "--plan", "--workspace", str(tmp_path)]) == 2
    assert "--plan" in capsys.readouterr().err
