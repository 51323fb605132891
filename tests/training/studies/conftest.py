"""Studies whose runs and measurements are made in the test's own process, which is much quicker than one for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

from training.engine.runs.hooks import Hooks
from training.engine.runs.run import resume_run
from training.errors import InputError, TrainingError
from training.laboratory.child import Ended, Interrupt, Say
from training.runs.folder import RunFolder
from training.studies import timing
from training.studies.worker import QUESTIONS, Worker


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the runs that were trained since, in their order; what is measured is closed with the test."""
    trained: list[str] = []

    def train(
        run: RunFolder, say: Say, interrupt: Interrupt, kill_it: bool = False, look: Callable[[], None] = lambda: None
    ) -> Ended:
        trained.append(run.read_status().name)
        hooks = Hooks(flushed=lambda row, newest: look(), followed=False)
        record = resume_run(str(run.path), run.path.parent.parent, hooks=hooks)
        return Ended({"completed": 0, "stopped": 130}.get(record.status, 1), record.reason or "")

    def ask(worker: Worker, what: str, **request: Any) -> Any:
        module, _, name = QUESTIONS[what].partition(":")
        try:
            return getattr(import_module(module), name)(**request)
        except TrainingError as error:  # as it comes out of another process
            kind = InputError if isinstance(error, InputError) else TrainingError
            raise kind(error.message, error.advice) from error

    monkeypatch.setattr("training.studies.trainer.train", train)
    monkeypatch.setattr(Worker, "ask", ask)
    monkeypatch.setattr(Worker, "__enter__", lambda worker: worker)
    monkeypatch.setattr(Worker, "__exit__", lambda *_: None)
    yield trained
    for arm in [*timing._OPEN]:
        timing.close_steps(arm)
