"""Sweeps whose trials train in this very process: what a process of its own costs is most of a tiny run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.training.tiny import tiny
from training.engine.runs.run import Hooks, resume_run
from training.events import Event
from training.laboratory.child import Ended, Interrupt
from training.runs.folder import RunFolder
from training.sweeps.folder import Budget, Sweep, create_sweep
from training.sweeps.records import SweepRecord, read_record
from training.sweeps.space import read_space
from training.sweeps.worker import work

VARIED = ("optimizer.lr=1e-4:1e-1:log", "model.hidden=[8]|[16,16]", "model.dropout=0:0.5")
CODES = {"completed": 0, "stopped": 130, "failed": 1}


def make_sweep(
    workspace: Path,
    *overrides: str,
    varied: Sequence[str] = VARIED,
    sampler: Any = "tpe",
    pruner: Any = "median",
    budget: Budget = Budget(trials=4),  # noqa: B008 - it is frozen
    seed: int = 0,
    storage: str = "",
    repeats: int = 1,
) -> Sweep:
    """Of a run of a tenth of a second, with 3 validations."""
    fixed = (
        "schedule.kind=cosine",
        "precision.threads=1",
        "loop.decision_boundary=off",
        "checkpoints.monitor=val/loss",
    )
    base = tiny(*fixed, *overrides)
    space = read_space(base, varied, sampler)
    return create_sweep(workspace, base, space, sampler, pruner, seed, budget, storage, repeats)


def train_here(run: RunFolder, _say: object, interrupt: Interrupt, *, look: Callable[[], None]) -> Ended:
    """``laboratory.child.train``, in this process."""
    hooks, one_at_a_time = Hooks(), threading.Lock()  # checkpoints are told by a thread of their own

    def watch(_event: Event) -> None:
        with one_at_a_time:
            look()
        if interrupt.asked:
            hooks.control.request_stop()

    hooks.watch = watch
    record = resume_run(str(run.path), run.path.parent.parent, hooks=hooks)
    return Ended(CODES[record.status], "")


def work_here(sweep: Sweep, interrupt: Interrupt | None = None, train: Any = train_here) -> tuple[str, list[str]]:
    """Work on it; returns why it ended, and what was said."""
    said: list[str] = []
    return work(sweep, said.append, interrupt or Interrupt(), train), said


def tell_trials(sweep: Sweep) -> list[tuple[Any, ...]]:
    """All of each trial that has to be the same to the bit."""
    record: SweepRecord = read_record(sweep)
    return [
        (trial.number, trial.state, tuple(trial.params.items()), trial.value, trial.curve, trial.reason)
        for trial in record.trials
    ]
