"""A sweep that is killed again and again is the sweep that was not, trial by trial, to the bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("optuna", reason="optuna is not installed: pip install 'trainwright[sweeps]'")

from tests.training.sweeps.in_process import make_sweep, tell_trials, work_here
from training.runs.records.series import read_steps
from training.sweeps.folder import Budget, Sweep
from training.sweeps.records import read_record

ROOT = Path(__file__).parents[3]


def read_losses(sweep: Sweep, number: int) -> list[float]:
    rows = read_steps(sweep.run(number).series_file, 1, 24)
    assert len(rows) == 24
    return [float(loss) for loss in rows["loss"]]


@pytest.mark.skipif(sys.platform != "linux", reason="lives are forks")
@pytest.mark.parametrize(
    ("pruner", "sampler", "trials", "lives"),
    [
        # In the middle of a line and behind it: as a trial is made, at its parameters, at a validation, at its end.
        pytest.param("hyperband", "grid", 7, (-1, 3, 7, -8, 6, -17), marks=pytest.mark.slow),
        pytest.param("hyperband", "tpe", 16, (2, -3, 4, -9, 5, -6, 12, -14, 60, -30), marks=pytest.mark.slow),
        pytest.param("median", "gp", 14, (-2, 7, -8, 80, -12), marks=pytest.mark.slow),
    ],
)
def test_a_sweep_that_is_killed_at_its_writes_is_the_same_sweep(
    tmp_path: Path, pruner: str, sampler: str, trials: int, lives: tuple[int, ...]
) -> None:
    points = ":3" if sampler == "grid" else ""
    varied = (f"optimizer.lr=1e-4:1e-1:log{points}", "model.dropout=0.0|0.3", "model.hidden=[8]|[16,16]")
    budget = Budget(trials=trials)
    unbroken = make_sweep(tmp_path / "a", varied=varied, pruner=pruner, sampler=sampler, budget=budget)
    work_here(unbroken)
    killed = make_sweep(tmp_path / "b", varied=varied, pruner=pruner, sampler=sampler, budget=budget)
    words = [sys.executable, "-m", "tests.training.sweeps.killed", str(killed.path), *map(str, lives)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    subprocess.run(words, check=True, cwd=ROOT, env=environment)
    told = tell_trials(unbroken)
    assert len(told) == trials
    assert sampler == "grid" or "pruned" in [trial[1] for trial in told]
    assert tell_trials(killed) == told
    complete = next(trial[0] for trial in told if trial[1] == "complete")
    assert read_losses(killed, complete) == read_losses(unbroken, complete)


@pytest.mark.slow
def test_a_worker_and_its_children_that_are_killed_go_on_to_the_same_sweep(tmp_path: Path) -> None:
    longer = ("loop.epochs=40", "dataset.samples=600")
    unbroken = make_sweep(tmp_path / "a", *longer)
    work_here(unbroken)
    killed = make_sweep(tmp_path / "b", *longer)
    command = [sys.executable, "-m", "training", "sweep", "work", str(killed.path)]
    for wanted in (1, 2, 3):
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + 120
        while time.monotonic() < end and process.poll() is None:
            trials = read_record(killed).trials
            if len(trials) >= wanted and len(trials[wanted - 1].curve) >= 3:
                break
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    subprocess.run(command, cwd=ROOT, check=True)
    assert tell_trials(killed) == tell_trials(unbroken)
