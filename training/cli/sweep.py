"""``python -m training sweep``: trials of one configuration with other settings, proposed by Optuna."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator, Sequence

from training.cli.options import load_given, workspace_of
from training.errors import InputError, format_bytes, format_duration, pluralize
from training.metric_names import metric
from training.streams import print_json, say, write_out
from training.sweeps.by_hand import add_trial, stop_trial
from training.sweeps.dimension import show_value
from training.sweeps.folder import Sweep, find_sweep, list_sweeps
from training.sweeps.optuna_study import PASSWORD, require_optuna
from training.sweeps.records import SweepRecord, TrialRecord, read_record
from training.sweeps.request import SweepRequest, make_sweep
from training.system.held_input import call_at_its_end
from training.system.untrusted import escape_unprintable


def new_sweep(arguments: argparse.Namespace) -> int:
    """Make a sweep as it is asked for."""
    require_optuna(arguments.sampler, arguments.pruner)
    base, workspace = load_given(arguments), workspace_of(arguments)
    request = SweepRequest(
        tuple(arguments.vary),
        arguments.sampler,
        arguments.pruner,
        arguments.seed,
        arguments.trials,
        arguments.hours,
        arguments.disk,
        arguments.storage or "",
        arguments.repeat,
    )
    sweep = make_sweep(workspace, base, request)
    for line in _describe(sweep):
        say(line)
    if sweep.storage != request.storage and os.environ.get(PASSWORD):
        say(f"The database's password is not written down; workers take it from ${PASSWORD} or ~/.pgpass.")
    say(f"Begin with: python -m training sweep work {sweep.id}")
    if arguments.json:
        print_json({"sweep": sweep.id, "folder": str(sweep.path), **sweep.dump()})
    return 0


def work_sweep(arguments: argparse.Namespace) -> int:
    """Train until the budget is used up; returns the exit code, 130 where it was stopped before its end."""
    sweep = _find(arguments)
    require_optuna(sweep.sampler, sweep.pruner)
    from training.laboratory.child import Interrupt, count_signals
    from training.sweeps.worker import work

    interrupt = Interrupt()
    if arguments.while_held:
        call_at_its_end(interrupt.ask)
    with count_signals(interrupt):
        ended = work(sweep, say, interrupt)
    record = read_record(sweep)
    say(ended or f"Stopped; what was trained is kept. Go on with: python -m training sweep work {sweep.id}")
    for line in _describe_best(record):
        say(line)
    if arguments.json:
        print_json(record.dump())
    return 0 if ended else 130


def show_sweep(arguments: argparse.Namespace) -> int:
    """Print the sweep as it is now."""
    record = read_record(_find(arguments))
    if arguments.json:
        print_json(record.dump())
    else:
        lines = [
            *_describe(record.sweep),
            *_list_trials(record),
            *_describe_importances(record),
            *_describe_spent(record),
        ]
        write_out("".join(f"{escape_unprintable(line, 1000)}\n" for line in [*lines, *_describe_best(record)]))
    return 0


def add_sweep(arguments: argparse.Namespace) -> int:
    """Add a trial by hand."""
    sweep = _find(arguments)
    number = add_trial(sweep, arguments.overrides)
    say(f"Trial {number} waits; sweep work begins it next, whatever the budget.")
    if arguments.json:
        print_json({"sweep": sweep.id, "trial": number})
    return 0


def stop_sweep(arguments: argparse.Namespace) -> int:
    """Stop a trial."""
    sweep = _find(arguments)
    try:
        number = int(arguments.trial)
    except ValueError as error:
        raise InputError(f"{arguments.trial}: give a trial's number, as sweep show lists it.") from error
    told = stop_trial(sweep, number)
    say(told)
    if arguments.json:
        print_json({"sweep": sweep.id, "trial": number, "told": told})
    return 0


def list_sweep(arguments: argparse.Namespace) -> int:
    """List the workspace's sweeps, oldest first; their trials are not looked at."""
    sweeps = list_sweeps(workspace_of(arguments))
    if arguments.json:
        print_json({"sweeps": [{"sweep": each.id, "folder": str(each.path), **each.dump()} for each in sweeps]})
    else:
        for each in sweeps:
            varied = ", ".join(dimension.path for dimension in each.space.dimensions)
            write_out(escape_unprintable(f"{each.id}  {each.name}  {each.sampler}  {varied}", 1000) + "\n")
    return 0


def _find(arguments: argparse.Namespace) -> Sweep:
    return find_sweep(arguments.sweep, workspace_of(arguments))


def _describe(sweep: Sweep) -> Iterator[str]:
    budget = sweep.budget
    limits = [pluralize(budget.trials, "trial")] if budget.trials is not None else []
    limits += [format_duration(budget.hours * 3600)] if budget.hours is not None else []
    limits += [format_bytes(budget.bytes)] if budget.bytes is not None else []
    yield f"Sweep {sweep.id} of {sweep.name}: {sweep.sampler}, pruner {sweep.pruner}, seed {sweep.seed}, at most {', '.join(limits)}"
    if sweep.repeats > 1:
        yield f"each trial is {sweep.repeats} runs, of as many seeds, and counts by their mean"
    yield f"{'highest' if sweep.maximize else 'lowest'} {sweep.metric} over"
    for dimension in sweep.space.dimensions:
        yield f"  {dimension.path}: {dimension.words}"


def _list_trials(record: SweepRecord) -> Iterator[str]:
    if record.trials:
        paths = [dimension.path for dimension in record.sweep.space.dimensions]
        yield from _align(
            [
                ["trial", "state", record.sweep.metric, *paths, "run"],
                *(_row(record, trial, paths) for trial in record.trials),
            ]
        )


def _row(record: SweepRecord, trial: TrialRecord, paths: Sequence[str]) -> list[str]:
    star = "*" if trial.number == record.best else ""
    value = "" if trial.value is None else metric(record.sweep.metric).show(trial.value)
    params = [show_value(trial.params[path]) if path in trial.params else "" for path in paths]
    state = f"{trial.words}{', by hand' if trial.by_hand else ''}{f' ({trial.reason})' if trial.reason else ''}"
    return [f"{trial.number}{star}", state, value, *params, trial.run]


def _align(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _describe_importances(record: SweepRecord) -> Iterator[str]:
    if record.importances:
        yield "importance (PED-ANOVA)"
        for path, share in record.importances.items():
            yield f"  {share:6.1%}  {path}"
    if record.importance_note:
        yield record.importance_note


def _describe_spent(record: SweepRecord) -> Iterator[str]:
    spent = record.spent
    yield f"used: {pluralize(spent.trials, 'trial')}, {format_duration(spent.seconds)} of training, {format_bytes(spent.bytes)}"
    if record.ended:
        yield record.ended


def _describe_best(record: SweepRecord) -> Iterator[str]:
    if record.best is None:
        yield "No trial is complete yet."
        return
    best = record.trials[record.best]
    told = shlex.join(word for path, value in best.params.items() for word in ("--set", f"{path}={value}"))
    assert best.value is not None
    yield f"Best: trial {best.number}, {record.sweep.metric} {metric(record.sweep.metric).show(best.value)}: {told}"
