"""After a move a run goes on, a checkpoint is measured, and a sweep takes further trials, with all that they find in the workspace."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import Captured, json_line, stopped_run
from tests.training.tiny import tiny
from training.cli import main
from training.config.files import save_config
from training.moving.move import move_workspace
from training.moving.plan import make_plan


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "other place"


def train(config: Path, capsys: Captured, *words: str) -> dict[str, Any]:
    assert main(["run", str(config), "--json", *words]) == 0
    return json_line(capsys)


@pytest.mark.slow
def test_a_run_goes_on_with_the_teacher_that_was_moved_with_it(
    isolated_home: Path, tmp_path: Path, target: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, config = isolated_home / "workspace", tmp_path / "tiny.toml"
    save_config(tiny("loop.epochs=1"), config)
    teacher = train(config, capsys)
    save_config(tiny("name=pupil", "objective.kind=distillation", f"objective.teacher={teacher['folder']}"), config)
    whole = train(config, capsys, "--workspace", str(tmp_path / "undisturbed"))
    stopped = stopped_run(config, capsys, monkeypatch)
    assert main(["evaluate", stopped["run"], "--json"]) == 0
    measured = json_line(capsys)

    move_workspace(make_plan(workspace, target))
    monkeypatch.setenv("TRAINWRIGHT_WORKSPACE", str(target))
    checkpoint = target / "runs" / stopped["run"] / "checkpoints" / measured["checkpoint"]
    assert main(["evaluate", str(checkpoint), "--json"]) == 0
    assert json_line(capsys)["metrics"] == measured["metrics"]
    assert main(["resume", stopped["run"], "--dry-run"]) == 0
    assert "teacher" not in capsys.readouterr().out
    assert main(["resume", stopped["run"], "--json"]) == 0
    resumed = json_line(capsys)
    assert resumed["status"] == "completed"
    assert resumed["folder"] == str(target / "runs" / stopped["run"])
    assert resumed["metrics"] == whole["metrics"]
    assert not workspace.exists()

    assert main(["resume", stopped["run"], "--branch", "--set", "loop.epochs=5", "--json"]) == 0
    branch = json_line(capsys)
    assert (branch["status"], branch["epoch"]) == ("completed", 5)


@pytest.mark.skipif(find_spec("optuna") is None, reason="optuna is not installed: pip install 'trainwright[sweeps]'")
def test_a_sweep_takes_further_trials(
    isolated_home: Path, tmp_path: Path, target: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.training.sweeps.in_process import make_sweep, work_here
    from training.sweeps.folder import Budget, read_sweep
    from training.sweeps.records import read_record

    workspace = isolated_home / "workspace"
    sweep = make_sweep(workspace, budget=Budget(trials=2))
    work_here(sweep)
    before, base = read_record(sweep), sweep.base()
    move_workspace(make_plan(workspace, target))
    moved = read_sweep(target / "sweeps" / sweep.id)
    assert read_record(moved).trials == before.trials
    assert all((target / "runs" / run).is_dir() for trial in before.trials for run in trial.runs)
    assert moved.base() == base
    more = replace(moved, budget=Budget(trials=3))
    work_here(more)
    after = read_record(more).trials
    assert after[:2] == before.trials
    assert after[2].state == "complete"
    assert (target / "runs" / after[2].run / "config.toml").is_file()
    assert not workspace.exists()
