"""The run of one trial: made, trained in a process of its own, its validations reported, stopped where it is pruned, told.

What becomes of a trial follows from its run's own record: who comes after a kill finds there what is still to be done.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pydantic import JsonValue

from training.config import RunConfig
from training.control import UNASKED, Command, send
from training.diagnosis.recorded import calls_for_validation, is_planned
from training.errors import InputError, TrainingError
from training.events import AttemptStarted, Validated
from training.laboratory.child import Ended, Interrupt
from training.runs.folder import RunFolder, owner_of, write_first
from training.runs.index import index_run
from training.runs.kept_files import hand_on_files
from training.runs.owner import Heartbeat
from training.runs.records.about import update_about
from training.runs.records.forms import StatusRecord
from training.runs.records.history import History
from training.runs.records.progress import worked_seconds
from training.runs.storage import explain_disk_errors
from training.sweeps.folder import Sweep
from training.sweeps.trials import REASON, SECONDS, State, Trials
from training.system.atomic import sync_folder

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

PRUNED = "pruned"
"""The tag of a run that was stopped because others of its sweep were better by then."""
BY_HAND = "stopped by hand"
_ASK_AGAIN_SECONDS = 1.0
_LOOK_SECONDS = 0.05
_MOST_DEATHS = 3
_SIGNALED = 128


class Train(Protocol):
    """``laboratory.child.train``: go on with a run in a process of its own, calling ``look`` all the while."""

    def __call__(
        self, run: RunFolder, say: Callable[[str], None], interrupt: Interrupt, *, look: Callable[[], None]
    ) -> Ended: ...


class End(NamedTuple):
    """How a trial ended; ``value`` is that of a complete one."""

    state: State
    value: float | None = None
    reason: str = ""


class Paused(TrainingError):
    """The trial goes on another time: its run was stopped by what stopped everything here."""


@dataclass
class TrialRun:
    """The run of ``trial``, with the configuration ``config`` that was frozen for it; where ``part`` is a number, that one of several, whose
    validations are not reported: what it comes to is."""

    sweep: Sweep
    trials: Trials
    trial: FrozenTrial
    config: RunConfig
    part: int | None = None

    def __post_init__(self) -> None:
        self.run = self.sweep.run(self.trial.number, self.part or 0)
        self._history = History(self.run.events_file)
        self._reported = 0
        self._prune = self._is_noted = False
        self._asked = -math.inf
        self._lost: TrainingError | None = None

    def finish(self, interrupt: Interrupt, train: Train) -> End | None:
        """Train it to its end, or as far as it is to go, from wherever it is; None where ``interrupt`` was asked for an end, and the trial
        goes on another time. Raises Paused, and TrainingError where the folder is lost."""
        self._make()
        heartbeat = Heartbeat(self.sweep.trial_folder(self.trial.number), self._lose)
        try:
            return self._finish(interrupt, train)
        finally:
            heartbeat.stop()

    def _finish(self, interrupt: Interrupt, train: Train) -> End | None:
        deaths = 0
        while True:
            self._look()
            if self._lost is not None:
                raise self._lost
            if owner_of(self.run.path) is not None:  # the process of a worker that was killed, or the window's
                if interrupt.asked:
                    return None
                time.sleep(_LOOK_SECONDS)
                continue
            record = self.run.status()
            self._look()  # what it wrote since the last look, before it ended
            if (end := self._judge_end(record)) is not None:
                return end
            if interrupt.asked:
                return None
            ended = train(self.run, lambda _line: None, interrupt, look=self._look)
            if (end := self._judge_process(ended, interrupt)) is not None:
                return end
            deaths += ended.code < 0 or ended.code > _SIGNALED + 2
            if deaths >= _MOST_DEATHS:
                return End("failed", reason=f"its process ended unexpectedly {deaths} times (code {ended.code})")

    def _judge_end(self, record: StatusRecord) -> End | None:
        """What the run's record makes of the trial; None where there is more to train."""
        if self._prune:
            return End("pruned")
        if self._is_to_stop():
            return self._end_by_hand()
        if record.status == "completed":
            value = record.best.value if record.best is not None else math.nan
            if math.isfinite(value):
                return End("complete", value)
            return End("failed", reason=f"no validation of it had a finite {self.sweep.metric}")
        if record.status == "failed":
            return End("failed", reason=record.reason or "the run failed")
        return None

    def _judge_process(self, ended: Ended, interrupt: Interrupt) -> End | None:
        """What a process that has just ended makes of the trial; None where its run's record tells more."""
        record = self.run.status()
        self._look()
        if self._prune or record.status in ("completed", "failed") or self._is_to_stop() or interrupt.asked:
            return None
        if record.status == "stopped":
            if record.reason in UNASKED:
                raise Paused(f"Trial {self.trial.number}: {record.reason}", "Go on with sweep work.")
            return self._end_by_hand()  # in the window, or with a signal of its own
        if ended.code in (1, 2):  # refused, before anything began
            words = ended.words.splitlines()[-1].strip() if ended.words else f"its process ended with code {ended.code}"
            return End("failed", reason=words)
        return None

    def _end_by_hand(self) -> End:
        """A trial that a person stopped teaches what it came to."""
        return End("pruned" if self._reported else "failed", reason=BY_HAND)

    def _is_to_stop(self) -> bool:
        return self.sweep.stop_file(self.trial.number).exists()

    # ------------------------------------------------------------------------------------------------- looking on

    def _look(self) -> None:
        """Report what was validated since, in its order, and ask the run to stop where it is pruned: it is the validation that decides,
        however far the run has come since."""
        self._history.poll()
        attempt = self._history.attempts[-1] if self._history.attempts else None
        if attempt is not None and self.part is None:
            if not self._is_noted:
                self._is_noted = True
                self.trials.note_validations(_count_validations(self.config, attempt))
            for validation in self._list_planned(attempt)[self._reported :]:
                if self._prune:
                    break
                self._reported += 1
                value = float(validation.metrics[self.sweep.metric])
                if validation.step >= attempt.total_steps:  # the run is done with it: nothing is left to prune
                    self.trials.report(self.trial, self._reported, value)
                else:
                    self._prune = self.trials.judge(self.trial, self._reported, value)
        if (self._prune or self._lost is not None or self._is_to_stop()) and owner_of(self.run.path) is not None:
            self._ask_to_stop()

    def _list_planned(self, attempt: AttemptStarted) -> list[Validated]:
        """The validations that count, each step once. A resumed attempt makes those behind its checkpoint again, to the bit."""
        steps: dict[int, Validated] = {}
        for validation in self._history.validations:
            if is_planned(validation, self.config, attempt.total_steps, attempt.steps_per_epoch):
                steps.setdefault(validation.step, validation)
        return list(steps.values())

    def _ask_to_stop(self) -> None:
        """Again and again: a process that is just beginning does not hear what was asked before."""
        if time.monotonic() - self._asked >= _ASK_AGAIN_SECONDS:
            self._asked = time.monotonic()
            send(self.run.path, Command.STOP)

    def _lose(self, reason: TrainingError) -> None:
        self._lost = reason

    # ---------------------------------------------------------------------------------------------------- the folder

    def _make(self) -> None:
        """The run's folder, unless it is there; what a kill left half-made is made again."""
        run = self.run
        with explain_disk_errors(run.path):
            if not run.config_file.is_file():
                shutil.rmtree(run.path, ignore_errors=True)
                run.path.mkdir(parents=True)
                hand_on_files(RunFolder(self.sweep.path), run)
                write_first(run, self.config)
                sync_folder(run.path.parent)
        mark_runs([run], self.sweep.id)


def mark_runs(runs: Iterable[RunFolder], tag: str) -> None:
    """Have the list of runs show ``tag`` with them. Raises InputError."""
    for run in runs:
        if run.config_file.is_file():
            update_about(run, lambda about: replace(about, tags=about.add_tags([tag])))
            index_run(run)


def measure_end(runs: Iterable[RunFolder], end: End) -> dict[str, JsonValue]:
    """What is stored of a trial besides its values."""
    worked = sum(worked_seconds(run.read_status()) for run in runs if run.config_file.is_file())
    told: dict[str, JsonValue] = {SECONDS: round(worked, 3)}
    return told | ({REASON: end.reason} if end.reason else {})


def _count_validations(config: RunConfig, attempt: AttemptStarted) -> int:
    total, per_epoch = attempt.total_steps, attempt.steps_per_epoch
    if config.loop.validate_every_steps is None:
        return math.ceil(total / per_epoch)
    return sum(calls_for_validation(step, config, total, per_epoch) for step in range(1, total + 1))


def end_without_run(error: InputError) -> End:
    """A trial whose settings do not go together: no run was made."""
    return End("failed", reason=str(error))
