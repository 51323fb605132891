"""Too many skipped steps in a row: the run ends, or goes back, at the same step however its numbers were fetched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.training.tiny import tiny
from training import control as control_module
from training.checkpoints import load_state
from training.checkpoints.load import load_tensors
from training.control import Control
from training.engine import fit
from training.engine.recovery import rollback
from training.engine.runs.hooks import Hooks
from training.engine.runs.run import resume_run, start_run
from training.engine.session import Session
from training.engine.step import train_step
from training.engine.step_logger import StepLogger
from training.events import AttemptStarted, Completed, Event, Failed, Finding
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import list_checkpoints
from training.runs.records.series import read_series

ROLL_BACK = ("loop.after_skips=roll_back", "loop.max_skipped_steps=5", "checkpoints.keep_last=2", "loop.ema_decay=0.9")
Poisoned = Callable[[Session], bool]


def poisoning(poisoned: Poisoned) -> Callable[[Session, Any, float], tuple[Tensor, Tensor]]:
    """The step, its gradient spoiled where ``poisoned`` says so: a function of where the run stands."""

    def step(session: Session, window: Any, lr: float) -> tuple[Tensor, Tensor]:
        if not poisoned(session):
            return train_step(session, window, lr)
        handle = session.model.register_forward_hook(lambda module, inputs, outputs: outputs * torch.nan)
        try:
            return train_step(session, window, lr)
        finally:
            handle.remove()

    return step


def fast_rates_fail(session: Session) -> bool:
    """From step 15 on nothing is finite, until the rate was halved twice."""
    return session.progress.step >= 14 and session.progress.rate_factor > 0.3


def train(workspace: Path, monkeypatch: pytest.MonkeyPatch, poisoned: Poisoned, *overrides: str) -> RunFolder:
    monkeypatch.setattr(fit, "train_step", poisoning(poisoned))
    return RunFolder(Path(start_run(tiny(*ROLL_BACK, *overrides), workspace).folder))


def content(folder: RunFolder) -> tuple[bytes, dict[str, Tensor], dict[str, Any]]:
    """The series, all tensors of the last checkpoint, and where it stands."""
    checkpoint = max(folder.checkpoints.iterdir())
    state = load_state(checkpoint)
    tensors = {"rng": state["rng"]["cpu"]}
    for name in ("model", "ema"):
        tensors |= {f"{name} {key}": value for key, value in load_tensors(checkpoint / f"{name}.safetensors").items()}
    for number, entries in state["optimizer"]["state"].items():
        tensors |= {f"optimizer {number} {key}": value for key, value in entries.items()}
    return folder.series_file.read_bytes(), tensors, state["progress"]


def assert_same_run(left: RunFolder, right: RunFolder) -> None:
    (rows, tensors, progress), (other_rows, other_tensors, other_progress) = content(left), content(right)
    assert rows == other_rows
    assert list(tensors) == list(other_tensors)
    assert [name for name in tensors if not torch.equal(tensors[name], other_tensors[name])] == []
    assert progress == other_progress
    assert [path.name for path in sorted(left.checkpoints.iterdir())] == [
        path.name for path in sorted(right.checkpoints.iterdir())
    ]


def test_a_run_goes_back_and_on_with_a_lower_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = train(tmp_path, monkeypatch, fast_rates_fail)
    plain = train(tmp_path, monkeypatch, lambda session: False)
    history = read_history(folder.events_file)
    assert isinstance(history.final, Completed)
    assert [(attempt.attempt, attempt.step) for attempt in history.attempts] == [(1, 0), (2, 12), (3, 12)]
    assert [attempt.changes for attempt in history.attempts[1:]] == [
        ("learning rate: 0.5 of the schedule's",),
        ("learning rate: 0.25 of the schedule's",),
    ]
    assert history.skipped == []  # they lie in the stretch that was given up
    rows, wanted = read_series(folder.series_file), read_series(plain.series_file)
    assert rows["step"].tolist() == list(range(1, 25))
    assert not rows["skipped"].any()
    np.testing.assert_array_equal(rows[:12], wanted[:12])
    np.testing.assert_allclose(rows["lr"][12:], 0.25 * wanted["lr"][12:], rtol=1e-12)
    progress = content(folder)[2]
    assert (progress["roll_backs"], progress["rate_factor"], progress["skipped"]) == (2, 0.25, 0)
    [first, second] = [item for item in history.findings if "Went back" in item.title]
    assert "from step 19 to step 12" in first.title
    assert "roll back 2 of at most 3" in second.advice


@pytest.mark.parametrize("seconds", [0.0, 1000.0], ids=["each step", "when something is due"])
def test_where_it_goes_back_does_not_depend_on_when_numbers_were_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    usual = train(tmp_path, monkeypatch, fast_rates_fail)
    monkeypatch.setattr(control_module, "POLL_SECONDS", seconds)
    assert_same_run(train(tmp_path, monkeypatch, fast_rates_fail), usual)


def test_a_checkpoint_a_person_asked_for_is_no_place_to_go_back_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = train(tmp_path, monkeypatch, fast_rates_fail)
    hooks = Hooks()

    def save_in_between(session: Session) -> bool:
        hooks.control.save = hooks.control.save or session.progress.step == 12  # done after step 13
        return fast_rates_fail(session)

    monkeypatch.setattr(fit, "train_step", poisoning(save_in_between))
    folder = RunFolder(Path(start_run(tiny(*ROLL_BACK), tmp_path, hooks).folder))
    saved = [line for line in folder.events_file.read_text().splitlines() if "step-00000013" in line]
    assert len(saved) == 3  # once in each stretch
    left, right = content(folder), content(usual)
    assert left[0] == right[0]
    assert all(torch.equal(left[1][name], right[1][name]) for name in right[1])


@pytest.mark.parametrize("seconds", [0.0, 1000.0], ids=["each step", "when something is due"])
def test_an_endless_row_ends_at_exactly_its_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(control_module, "POLL_SECONDS", seconds)
    # the row is over when the numbers are fetched at the epoch's end: it was too long all the same
    folder = train(tmp_path, monkeypatch, lambda session: 8 <= session.progress.step < 14, "loop.after_skips=stop")
    final = read_history(folder.events_file).final
    assert isinstance(final, Failed)
    assert final.step == folder.status().step == len(read_series(folder.series_file)) == 13
    assert "5 steps in a row, up to step 13" in final.reason
    assert final.fix == {"schedule.max_lr": 1e-3}


def test_the_fourth_time_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = train(tmp_path, monkeypatch, lambda session: session.progress.step >= 14)
    history = read_history(folder.events_file)
    assert [attempt.step for attempt in history.attempts] == [0, 12, 12, 12]
    assert isinstance(history.final, Failed)
    assert history.final.step == 19
    assert "after 3 roll backs" in history.final.reason


def test_a_disk_that_fails_while_going_back_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(_step_logger: StepLogger) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(StepLogger, "rewind", cut)
    final = read_history(train(tmp_path, monkeypatch, fast_rates_fail).events_file).final
    assert isinstance(final, Failed)
    assert "series.bin cannot be written (Input/output error)" in final.reason


def test_a_row_at_the_very_beginning_goes_back_to_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = train(tmp_path, monkeypatch, lambda session: session.progress.rate_factor == 1.0)
    history = read_history(folder.events_file)
    assert [attempt.step for attempt in history.attempts] == [0, 0]
    assert isinstance(history.final, Completed)
    assert not read_series(folder.series_file)["skipped"].any()


def test_the_place_to_go_back_to_outlives_the_checkpoints_of_a_long_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ("loop.max_skipped_steps=10", "checkpoints.every_steps=2", "checkpoints.keep_last=1")
    folder = train(tmp_path, monkeypatch, lambda s: s.progress.step >= 9 and s.progress.rate_factor == 1.0, *settings)
    assert [attempt.step for attempt in read_history(folder.events_file).attempts] == [0, 8]
    assert {info.step for info in list_checkpoints(folder) if not info.labels} == set()


def test_a_stop_right_after_a_row_is_a_stop_where_the_run_went_back_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_module, "POLL_SECONDS", 1000.0)
    usual = train(tmp_path, monkeypatch, fast_rates_fail)
    control = Control()

    def stop_in_time(session: Session) -> bool:
        control.stop = control.stop or session.progress.step == 18  # asked during step 19, the fifth of the row
        return fast_rates_fail(session)

    monkeypatch.setattr(fit, "train_step", poisoning(stop_in_time))
    record = start_run(tiny(*ROLL_BACK), tmp_path, Hooks(control=control))
    assert (record.status, record.step) == ("stopped", 12)
    monkeypatch.setattr(fit, "train_step", poisoning(fast_rates_fail))
    assert resume_run(record.folder, tmp_path).status == "completed"
    assert_same_run(RunFolder(Path(record.folder)), usual)


@pytest.mark.parametrize(
    ("change", "factor"), [("loop.epochs=4", 0.25), ("optimizer.weight_decay=0.5", 1.0), ("schedule.max_lr=0.001", 1.0)]
)
def test_a_branch_keeps_the_lowered_rate_unless_it_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, factor: float
) -> None:
    parent = train(tmp_path, monkeypatch, fast_rates_fail)
    monkeypatch.setattr(fit, "train_step", train_step)
    changes = [change] if "epochs" in change else [change, "loop.epochs=4"]
    branch = RunFolder(Path(resume_run(str(parent.path), tmp_path, changes).folder))
    progress = content(branch)[2]
    assert (progress["roll_backs"], progress["rate_factor"]) == (0, factor)
    assert [item.title for item in read_history(branch.events_file).findings if "had lowered" in item.title]


def kill_at(event: Event, place: str) -> bool:
    if place == "announced":
        return isinstance(event, AttemptStarted) and bool(event.changes)
    if place == "told":
        return isinstance(event, Finding) and "Went back" in event.title
    return event.kind == "checkpoint_saved" and getattr(event, "step", 0) == 16 and place == "saved"


def run_until_killed(workspace: str, place: str) -> None:
    """In a process of its own: dies of SIGKILL where ``place`` says."""
    killed = Hooks()
    rolled_back = False

    def watch(event: Event) -> None:
        nonlocal rolled_back
        rolled_back = rolled_back or (isinstance(event, AttemptStarted) and bool(event.changes))
        if rolled_back and kill_at(event, place):
            signal.raise_signal(signal.SIGKILL)

    killed.watch = watch
    patch.object(fit, "train_step", poisoning(fast_rates_fail)).start()
    unfinished = {"checkpoints cut": "take_over", "series cut": "read_history"}
    if place in unfinished:
        patch.object(rollback, unfinished[place], lambda *_: signal.raise_signal(signal.SIGKILL)).start()
    start_run(tiny(*ROLL_BACK), Path(workspace), killed)


PLACES = ["checkpoints cut", "series cut", "announced", "told", "saved"]


def run_in_turn(folder: str) -> None:
    """In a process of its own, which loads torch once: a child for each place, which dies there."""
    for place in PLACES:
        child = os.fork()
        if not child:
            try:
                run_until_killed(f"{folder}/{place}", place)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, place


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Workspaces, one for each place, with a run that was killed there."""
    folder = tmp_path_factory.mktemp("killed")
    code = f"from {__name__} import run_in_turn as run; run({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], timeout=120, check=True)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
@pytest.mark.parametrize("place", PLACES)
def test_killed_after_going_back_it_is_still_the_same_run(
    tmp_path: Path, killed: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    usual = train(tmp_path, monkeypatch, fast_rates_fail)
    [path] = (killed / place / "runs").iterdir()
    assert resume_run(str(path), killed / place).status == "completed"
    assert_same_run(RunFolder(path), usual)
