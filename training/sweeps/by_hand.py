"""What a person does to a sweep's trials: add one, stop one."""

from __future__ import annotations

from collections.abc import Sequence

from training.errors import ConfigError, InputError, RunBusyError
from training.runs.owner import claim, release
from training.sweeps.dimension import Value
from training.sweeps.folder import Sweep
from training.sweeps.space import name_trial
from training.sweeps.trial_run import BY_HAND, PRUNED, End, mark_runs, measure_end
from training.sweeps.trials import Trials, state_of


def add_trial(sweep: Sweep, overrides: Sequence[str]) -> int:
    """A trial with the values of ``overrides`` ("section.key=value"), which the next worker begins; returns its number. What they leave
    out the sampler proposes. Raises InputError for a setting that the sweep does not vary, and for a value outside its range."""
    params: dict[str, Value] = {}
    for override in overrides:
        path, equal, text = (part.strip() for part in override.partition("="))
        dimension = sweep.space.find(path)
        if dimension is None or not equal:
            varied = ", ".join(each.path for each in sweep.space.dimensions)
            raise InputError(f"--set {override}: must set what this sweep varies: {varied}.")
        params[path] = dimension.read(text)
    if not params:
        raise InputError("--set is missing: give the values of the trial, for example --set optimizer.lr=0.003.")
    missing = [each.path for each in sweep.space.dimensions if each.path not in params]
    if sweep.sampler == "grid" and missing:
        raise InputError(f"--set: a trial beside a grid needs all of its settings; add {', '.join(missing)}.")
    base = sweep.base()
    for dimension in sweep.space.dimensions:
        if dimension.path in params and not sweep.space.applies(dimension, base, params):
            raise InputError(f"--set {dimension.path}: this kind has no such setting; leave it out.")
    try:
        sweep.space.make_config(base, params, name_trial(base.name, 0))
    except ConfigError as error:
        if not missing:
            raise InputError(f"--set: these do not go together: {error}") from error
    with sweep.lock:
        return Trials(sweep).enqueue(params)


def stop_trial(sweep: Sweep, number: int) -> str:
    """End a trial before its time; its run is kept and can be resumed. Returns what was done, in a sentence. Raises InputError for one that
    has ended."""
    with sweep.lock:
        trials = Trials(sweep)
        trial = trials.find(number)
        state = state_of(trial)
        if state == "waiting":
            trials.start(trial)
            trials.end(number, "failed", None, {"reason": BY_HAND})
            return f"Trial {number} had not begun; it is passed over."
        if state != "running":
            raise InputError(f"Trial {number} has ended: {state}.")
        folder = sweep.trial_folder(number)
        if (folder / "config.toml").is_file():
            try:
                claim(folder)
            except RunBusyError:
                sweep.stop_file(number).touch()
                return f"Trial {number} is told to stop; its run is kept."
        try:
            end = End("pruned" if trial.intermediate_values else "failed", reason=BY_HAND)
            runs = sweep.runs(number)
            if end.state == "pruned":
                mark_runs(runs, PRUNED)
            trials.end(number, end.state, None, measure_end(runs, end))
        finally:
            release(folder)
        return f"Trial {number}, which nobody was working on, is ended; its run is kept."
