"""The coordinator: takes a trial, has it trained, tells how it ended, and takes the next, until the budget is used up.

Several may work on one sweep, each a process of its own: a trial is taken inside the sweep's lock, and who has it shows so in the
trial's folder as the owner of a run does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from training.config import RunConfig
from training.config.files import save_config
from training.errors import ConfigError, RunBusyError, TrainingError, pluralize
from training.laboratory.child import Interrupt, train
from training.metric_names import metric
from training.runs.folder import RunFolder
from training.runs.owner import claim, release
from training.runs.relocation import require_places
from training.runs.storage import explain_disk_errors
from training.sweeps.budget import explain_end, measure_spent
from training.sweeps.dimension import show_value
from training.sweeps.folder import Sweep
from training.sweeps.records import find_best
from training.sweeps.repeated_trial import RepeatedTrial
from training.sweeps.space import Params, name_trial
from training.sweeps.trial_run import PRUNED, End, Train, TrialRun, end_without_run, mark_runs, measure_end
from training.sweeps.trials import Trials, state_of

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

Say = Callable[[str], None]
_MOST_FAILED = 3
"""Trials at the beginning of a sweep that may all fail: then it is hardly their values."""


class Taken(NamedTuple):
    """A trial that is this process's, and its frozen configuration."""

    trial: FrozenTrial
    config: RunConfig


def work(sweep: Sweep, say: Say, interrupt: Interrupt, train: Train = train) -> str:
    """Work on ``sweep`` until nothing is left to begin; returns why, in a sentence, "" where ``interrupt`` was asked for an end: what was
    trained is kept, and the next call goes on. Raises InputError and TrainingError."""
    base = sweep.base()
    require_places(RunFolder(sweep.path), base)  # of all trials alike: said before one is spent on it
    trials = Trials(sweep)
    while not interrupt.asked:
        with sweep.lock:
            taken = _take(sweep, trials, base, say)
        if isinstance(taken, str):
            return taken
        number = taken.trial.number
        make = TrialRun if sweep.repeats == 1 else RepeatedTrial
        trial_run = make(sweep, trials, taken.trial, taken.config)
        runs = sweep.runs(number)
        try:
            end = trial_run.finish(interrupt, train)
            if end is not None:
                if end.state == "pruned":
                    mark_runs(runs, PRUNED)
                with sweep.lock:
                    trials.end(number, end.state, end.value, measure_end(runs, end))
                sweep.stop_file(number).unlink(missing_ok=True)
        finally:
            release(sweep.trial_folder(number))
        if end is None:
            return ""
        say(f"[{number}] {_describe(sweep, end)}{_describe_best(sweep, trials)}")
        _refuse_hopeless(trials)
    return ""


def _take(sweep: Sweep, trials: Trials, base: RunConfig, say: Say) -> Taken | str:
    """A trial that nobody has: one left unfinished, else one by hand, else a new one; or why there is none."""
    while True:
        known = trials.read()
        trial = _claim_unfinished(sweep, known)
        head = "goes on"
        if trial is None:
            head = "by hand"
            trial = next((each for each in known if state_of(each) == "waiting" and trials.start(each)), None)
        if trial is None:
            if ended := explain_end(sweep, measure_spent(sweep, known)):
                busy = sum(state_of(each) == "running" for each in known)
                others = f" Other workers go on with {pluralize(busy, 'trial')}." if busy else ""
                return ended + others
            head, trial = "new", trials.create()
        try:
            config, params = _freeze(sweep, trials, trial, base)
        except ConfigError as error:
            end = end_without_run(error)
            trials.end(trial.number, end.state, None, {"reason": end.reason})
            say(f"[{trial.number}] failed, before it began: {end.reason}")
            _refuse_hopeless(trials)
            continue
        claim(sweep.trial_folder(trial.number))
        told = ", ".join(f"{path} = {show_value(value)}" for path, value in params.items())
        say(f"[{trial.number}] {head}: {told}")
        return Taken(trial, config)


def _claim_unfinished(sweep: Sweep, known: list[FrozenTrial]) -> FrozenTrial | None:
    """The first trial that runs and that no live process has, claimed where its configuration is frozen."""
    for trial in known:
        if state_of(trial) != "running":
            continue
        folder = sweep.trial_folder(trial.number)
        if not (
            folder / "config.toml"
        ).is_file():  # killed while it was proposed; the lock says that nobody is at it now
            return trial
        try:
            claim(folder)
        except RunBusyError:
            continue
        return trial
    return None


def _freeze(sweep: Sweep, trials: Trials, trial: FrozenTrial, base: RunConfig) -> tuple[RunConfig, Params]:
    """The trial's configuration, written down before anything is trained. Raises ConfigError where its values do not go together."""
    params = trials.propose(trial, base)
    frozen = RunFolder(sweep.trial_folder(trial.number))
    if not frozen.config_file.is_file():
        config = sweep.space.make_config(base, params, name_trial(base.name, trial.number))
        require_places(RunFolder(sweep.path), config)
        with explain_disk_errors(frozen.path):
            frozen.path.mkdir(parents=True, exist_ok=True)
        save_config(config, frozen.config_file)
    return frozen.config(), params


def _refuse_hopeless(trials: Trials) -> None:
    """Raise TrainingError where every trial failed so far, and there were some."""
    known = trials.read()
    failed = [trial for trial in known if state_of(trial) == "failed"]
    if len(failed) == _MOST_FAILED and not any(state_of(trial) in ("complete", "pruned") for trial in known):
        reason = str(failed[-1].user_attrs.get("reason", "")).rstrip(".")
        raise TrainingError(
            f"All {len(failed)} trials so far failed, the last because: {reason}.",
            "Mend that in a new sweep, or go on with sweep work.",
        )


def _describe(sweep: Sweep, end: End) -> str:
    if end.value is not None:
        return f"complete: {sweep.metric} {metric(sweep.metric).show(end.value)}"
    return f"{end.state}{f': {end.reason}' if end.reason else ''}"


def _describe_best(sweep: Sweep, trials: Trials) -> str:
    best = find_best(sweep, trials.read())
    if best is None or best.value is None:
        return ""
    return f"; best so far: trial {best.number}, {metric(sweep.metric).show(best.value)}"
