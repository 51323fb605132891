"""``python -m training runs|index``: what the index of all runs tells."""

from __future__ import annotations

import argparse
from contextlib import closing

from training.cli.options import workspace_of
from training.config.rules.metrics import metric
from training.console import format_runs
from training.errors import InputError
from training.runs.index.best import BestEpoch, metric_name
from training.runs.index.index import Index
from training.streams import print_json, write_out
from training.system.untrusted import escape_unprintable


def list_runs(arguments: argparse.Namespace) -> int:
    """Print a line, or a record, for each run, or with ``--best`` the best epoch of all; returns the exit code."""
    if arguments.best is not None:
        return _print_best(arguments)
    with closing(Index(workspace_of(arguments))) as index:
        records = index.runs()
        if arguments.json:
            print_json({"runs": [record.dump() for record in records]})
        elif not records:
            write_out(f"No runs in {escape_unprintable(str(workspace_of(arguments)), 100)} yet.\n")
        else:
            write_out(format_runs(records))
        index.catch_up()  # what a database that was away has missed
    return 0


def _print_best(arguments: argparse.Namespace) -> int:
    """The best epoch by a metric, and where its checkpoint is gone the best that has one."""
    name = metric_name(arguments.best)
    found = _find_best(Index(workspace_of(arguments)), name)
    if found is None:  # the database is away: the folders know it, too
        found = _find_best(Index(workspace_of(arguments), "sqlite://"), name)
    best, kept = found or (None, None)
    if best is None:
        raise InputError(f"--best {arguments.best}: no epoch of any run was measured by {name}; choose another metric.")
    if arguments.json:
        print_json({"metric": name, "best": best._asdict(), "kept": kept._asdict() if kept else None})
        return 0
    write_out(_format_best(name, best))
    if best.checkpoint is None and kept is not None:
        write_out("The best epoch whose checkpoint is kept:\n" + _format_best(name, kept))
    return 0


def _find_best(index: Index, name: str) -> tuple[BestEpoch | None, BestEpoch | None] | None:
    with closing(index):
        index.runs()
        index.catch_up()
        return index.best(name)


def _format_best(name: str, best: BestEpoch) -> str:
    value = metric(name).show(best.value)
    where = best.checkpoint or "none is kept of this epoch"
    return (
        f"run        {escape_unprintable(best.run)}\nepoch      {best.epoch:,}\nstep       {best.step:,}\n"
        f"{name:<10} {value}\ncheckpoint {where}\n"
    )


def show_index(arguments: argparse.Namespace) -> int:
    """Tell where the index is and what it holds, after migrating its tables where that is asked for; returns the exit code."""
    with closing(Index(workspace_of(arguments))) as index:
        if arguments.schema:
            index.migrate(arguments.schema)
            write_out("" if arguments.json else f"The tables are those of schema {arguments.schema} now.\n")
            if arguments.json:
                print_json({"schema": arguments.schema})
            return 0
        index.runs()
        index.catch_up()
        told = index.describe()
    if arguments.json:
        print_json(told)
    else:
        write_out("".join(f"{name:<8} {value}\n" for name, value in told.items()))
    return 0
