"""Trials: pruned, added by hand, stopped, left to the next worker, of several seeds, and failing with a reason."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="optuna is not installed: pip install 'trainwright[sweeps]'")

from tests.training.sweeps.in_process import make_sweep, tell_trials, train_here, work_here
from tests.training.tiny import tiny
from training.errors import InputError
from training.laboratory.child import Ended, Interrupt
from training.runs.folder import RunFolder
from training.runs.records.about import read_about
from training.sweeps.by_hand import add_trial, stop_trial
from training.sweeps.folder import Budget, read_sweep
from training.sweeps.records import read_record
from training.sweeps.repeated_trial import seed_part
from training.sweeps.trials import Trials


def test_a_pruned_trial_is_stopped_kept_and_marked(tmp_path: Path) -> None:
    sweep = make_sweep(
        tmp_path, "loop.epochs=12", sampler="grid", varied=["optimizer.lr=1e-5|2e-5|3e-2"], pruner="hyperband"
    )
    sweep = replace(sweep, budget=Budget(trials=3))
    ended, said = work_here(sweep)
    assert ended.startswith("The whole grid is tried: 3 trials") or ended.startswith("The budget is used up")
    record = read_record(sweep)
    pruned = [trial for trial in record.trials if trial.state == "pruned"]
    assert pruned
    for trial in pruned:
        run = sweep.run(trial.number)
        assert run.status().status in ("stopped", "completed")
        assert "pruned" in read_about(run).tags
        assert trial.value == trial.curve[-1][1]
        assert any(line.startswith(f"[{trial.number}] pruned") for line in said)
    stopped = [trial for trial in pruned if sweep.run(trial.number).status().status == "stopped"]
    assert stopped
    assert sweep.run(stopped[0].number).status().last_checkpoint  # resumable


def test_a_trial_by_hand_is_next_and_its_values_are_checked(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path, budget=Budget(trials=1))
    work_here(sweep)
    number = add_trial(sweep, ["optimizer.lr=0.02", "model.hidden=[16, 16]"])
    assert read_record(sweep).trials[number].state == "waiting"
    _, said = work_here(sweep)  # beyond the budget, which counts proposals
    assert said[0].startswith("[1] by hand: optimizer.lr = 0.02, model.hidden = [16,16], model.dropout = ")
    trial = read_record(sweep).trials[number]
    assert (trial.state, trial.by_hand, trial.params["optimizer.lr"]) == ("complete", True, 0.02)
    for override, why in (
        ("optimizer.lr=5", "must be a number in the sweep's range"),
        ("model.hidden=[3]", "give one of these"),
        ("loop.epochs=3", "must set what this sweep varies: optimizer.lr, model.hidden, model.dropout"),
    ):
        with pytest.raises(InputError, match=why.replace("[", r"\[")):
            add_trial(sweep, [override])
    assert len(read_record(sweep).trials) == 2


def test_a_person_stops_a_trial_and_the_sweep_goes_on(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path, "loop.epochs=20", budget=Budget(trials=2), pruner="none")
    asked: list[str] = []

    def train(run: RunFolder, say: Any, interrupt: Interrupt, *, look: Callable[[], None]) -> Ended:
        def look_and_stop() -> None:
            if run.id.endswith("-0000") and not asked and len(read_record(sweep).trials[0].curve) >= 2:
                words = [sys.executable, "-m", "training", "sweep", "stop", str(sweep.path), "0"]
                asked.append(subprocess.run(words, check=True, capture_output=True, text=True).stderr.strip())
            look()

        return train_here(run, say, interrupt, look=look_and_stop)

    work_here(sweep, train=train)
    first, second = read_record(sweep).trials
    assert asked == ["Trial 0 is told to stop; its run is kept."]
    assert (first.state, first.reason) == ("pruned", "stopped by hand")
    assert sweep.run(0).status().status == "stopped"
    assert second.state == "complete"
    with pytest.raises(InputError, match="Trial 1 has ended: complete"):
        stop_trial(sweep, 1)
    with pytest.raises(InputError, match="has no trial 7; they go from 0 to 1"):
        stop_trial(sweep, 7)
    waiting = add_trial(sweep, ["optimizer.lr=0.02"])
    assert "passed over" in stop_trial(sweep, waiting)
    assert read_record(sweep).trials[waiting].state == "failed"


def test_an_interrupted_worker_leaves_its_trial_to_the_next(tmp_path: Path) -> None:
    unbroken = make_sweep(tmp_path / "a", "loop.epochs=6", budget=Budget(trials=2))
    work_here(unbroken)
    sweep, interrupt = make_sweep(tmp_path / "b", "loop.epochs=6", budget=Budget(trials=2)), Interrupt()

    def train(run: RunFolder, say: Any, given: Interrupt, *, look: Callable[[], None]) -> Ended:
        def look_and_ask() -> None:
            look()
            if read_record(sweep).trials[0].curve:
                interrupt.ask()

        return train_here(run, say, given, look=look_and_ask)

    assert work_here(sweep, interrupt, train)[0] == ""
    (trial,) = read_record(sweep).trials
    assert trial.words == "unfinished"
    assert sweep.run(0).status().status == "stopped"
    _, said = work_here(sweep)
    assert said[0].startswith("[0] goes on")
    assert tell_trials(sweep) == tell_trials(unbroken)


@pytest.mark.slow
def test_a_trial_of_several_seeds_counts_by_their_mean_and_goes_on_where_it_was(tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "varied": ["optimizer.lr=1e-6|3e-2|2e-6"],
        "sampler": "grid",
        "pruner": "wilcoxon",
        "budget": Budget(trials=3),
        "seed": 3,
        "repeats": 6,
    }
    unbroken = make_sweep(tmp_path / "a", "seed=5", **asked)
    work_here(unbroken)
    record = read_record(unbroken)
    best = record.trials[record.best or 0]
    assert best.params == {"optimizer.lr": "3e-2"}
    assert [RunFolder(unbroken.workspace / "runs" / run).config().seed for run in best.runs] == [5, 6, 7, 8, 9, 10]
    statuses = [RunFolder(unbroken.workspace / "runs" / run).status().best for run in best.runs]
    assert [value for _, value in best.curve] == [status.value for status in statuses if status is not None]
    assert best.value == pytest.approx(sum(value for _, value in best.curve) / 6)
    worse = [trial for trial in record.trials if trial.number > best.number]
    assert worse, "the seed of the grid's order has to let one come after the best"
    for trial in worse:  # a signed rank of four pairs is the first that may come below a tenth
        assert (trial.state, len(trial.runs)) == ("pruned", 4)
        assert all("pruned" in read_about(RunFolder(unbroken.workspace / "runs" / run)).tags for run in trial.runs)
    broken, done = make_sweep(tmp_path / "b", "seed=5", **asked), 0
    while True:
        interrupt = Interrupt()

        def train_two(*words: Any, interrupt: Interrupt = interrupt, **rest: Any) -> Ended:
            nonlocal done
            done += 1
            ended = train_here(*words, **rest)
            if done % 2 == 0:
                interrupt.ask()
            return ended

        if work_here(broken, interrupt, train_two)[0]:
            break
    assert tell_trials(broken) == tell_trials(unbroken)
    assert read_record(read_sweep(broken.path)).spent.trials == 3


def test_trials_whose_settings_do_not_go_together_fail_with_the_reason(tmp_path: Path) -> None:
    varied = ["loop.ema_decay=none|0.9", "loop.swa_start=none|0.5"]
    sweep = make_sweep(tmp_path, varied=varied, budget=Budget(trials=4), sampler="grid")
    _, said = work_here(sweep)
    (failed,) = [trial for trial in read_record(sweep).trials if trial.state == "failed"]
    assert dict(failed.params) == {"loop.ema_decay": "0.9", "loop.swa_start": "0.5"}
    assert failed.run == ""
    assert "swa_start" in failed.reason
    assert any(line.startswith(f"[{failed.number}] failed, before it began") for line in said)
    assert sum(trial.state == "complete" for trial in read_record(sweep).trials) == 3


def test_a_pruned_trial_of_several_seeds_counts_by_their_mean_so_far(tmp_path: Path) -> None:
    sweep = make_sweep(tmp_path, repeats=3)
    trials = Trials(sweep)
    trial = trials.create()
    trials.propose(trial, sweep.base())
    for seed, value in enumerate((1.0, 3.0), 1):
        trials.judge(trial, seed, value)
    trials.end(trial.number, "pruned", None, {})
    assert read_record(sweep).trials[0].value == 2.0


def test_the_seed_after_the_largest_is_the_smallest() -> None:
    assert seed_part(tiny(f"seed={2**31 - 1}"), 1).seed == 0
