"""``python -m training runs|index``: what the index of all runs tells."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from training.cli.options import workspace_of
from training.config.rules.metrics import metric
from training.console import format_runs
from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.index.best import BestEpoch, metric_name
from training.runs.index.index import Index
from training.runs.records.forms import StatusRecord
from training.streams import print_json, write_out
from training.system.untrusted import escape_unprintable


def list_runs(arguments: argparse.Namespace) -> int:
    """Print a line, or a record, for each run, or with ``--best`` the best epoch of all; returns the exit code."""
    if arguments.best is not None:
        return _print_best(arguments)
    if arguments.dataset or arguments.name:
        raise InputError("--dataset and --name belong to --best; see python -m training runs --help.")
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
    name, workspace = metric_name(arguments.best), workspace_of(arguments)
    found = _find_best(Index(workspace), name, arguments)
    if found is None:  # the database is away: the folders know it, too
        found = _find_best(Index(workspace, "sqlite://"), name, arguments)
    best, kept = found or (None, None)
    if best is None:
        chosen = " that was chosen" if arguments.dataset or arguments.name else ""
        raise InputError(
            f"--best {arguments.best}: no epoch of any run{chosen} was measured by {name}; choose another metric."
        )
    data = {each.run: _describe_data(RunFolder(workspace / "runs" / each.run)) for each in (best, kept) if each}
    if arguments.json:
        told = {"metric": name, "best": best._asdict(), "kept": kept._asdict() if kept else None}
        print_json(told | {"data": data[best.run]})
        return 0
    write_out(_format_best(name, best, data[best.run]))
    if best.checkpoint is None and kept is not None:
        write_out("The best epoch whose checkpoint is kept:\n" + _format_best(name, kept, data[kept.run]))
    return 0


def _find_best(
    index: Index, name: str, arguments: argparse.Namespace
) -> tuple[BestEpoch | None, BestEpoch | None] | None:
    with closing(index):
        records = index.runs()
        index.catch_up()
        if not (arguments.dataset or arguments.name):
            return index.best(name)
        return index.best(name, [record.run for record in records if _is_chosen(record, arguments)])


def _is_chosen(record: StatusRecord, arguments: argparse.Namespace) -> bool:
    """Whether a run has the name, and the data by their kind or a part of their path, that are asked for."""
    if arguments.name and arguments.name not in (record.name, record.run):
        return False
    wanted: str = arguments.dataset or ""
    return wanted in ("", record.dataset) or wanted in _describe_data(RunFolder(Path(record.folder)))


def _describe_data(folder: RunFolder) -> str:
    """The kind and the path of a run's data; "" where its configuration is not here."""
    try:
        data = folder.settings().get("dataset")
    except InputError:
        return ""
    words = [data.get("kind"), data.get("path")] if isinstance(data, dict) else []
    return ", ".join(str(word) for word in words if word)


def _format_best(name: str, best: BestEpoch, data: str) -> str:
    value = metric(name).show(best.value)
    where = best.checkpoint or "none is kept of this epoch"
    return (
        f"run        {escape_unprintable(best.run)}\ndata       {escape_unprintable(data) or 'unknown here'}\n"
        f"epoch      {best.epoch:,}\nstep       {best.step:,}\n{name:<10} {value}\ncheckpoint {where}\n"
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
