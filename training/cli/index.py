"""``python -m training runs|index``: what the index of all runs tells."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from training.cli.options import workspace_of
from training.console import format_runs
from training.errors import InputError, pluralize
from training.metric_names import metric
from training.runs.folder import DAMAGED, RunFolder
from training.runs.index.best import BestEpoch, metric_name
from training.runs.index.index import Index
from training.runs.query import asks_for_archived, parse
from training.runs.records.about import About, name_of
from training.runs.records.forms import StatusRecord
from training.streams import print_json, say, write_out
from training.system.untrusted import escape_unprintable


def list_runs(arguments: argparse.Namespace) -> int:
    """Print a line, or a record, for each run, or with ``--best`` the best epoch of all; returns the exit code."""
    if arguments.best is not None:
        return _print_best(arguments)
    if arguments.dataset or arguments.name:
        raise InputError("--dataset and --name belong to --best; see python -m training runs --help.")
    workspace = workspace_of(arguments)
    if not workspace.is_dir():
        return _tell_nothing(arguments, f"No runs: there is no folder {_shorten(workspace)}.")
    with closing(Index(workspace)) as index:
        records, chosen = index.runs(), _choose(index, arguments)
        abouts = index.abouts()
        listed = [record for record in records if chosen is None or record.run in chosen]
        hidden = set() if _shows_archived(arguments) else {run for run, about in abouts.items() if about.archived}
        shown = [record for record in listed if record.run not in hidden]
        if arguments.json:
            print_json({"runs": [record.dump() | {"about": abouts[record.run].dump()} for record in shown]})
        elif not records:
            _tell_nothing(arguments, f"No runs in {_shorten(workspace)} yet.")
        else:
            write_out(format_runs(shown, abouts) if shown else "No run is listed.\n")
            for record in shown:
                if record.status == DAMAGED:
                    say(escape_unprintable(f"{record.run}: {record.reason} {record.advice}", 1000))
            if left_out := len(listed) - len(shown):
                say(f"{pluralize(left_out, 'archived run')} not listed; --all lists them, too.")
        index.catch_up()  # what a database that was away has missed
    return 0


def _tell_nothing(arguments: argparse.Namespace, words: str) -> int:
    if arguments.json:
        print_json({"runs": []})
        say(words)
    else:
        write_out(f"{words}\n")
    return 0


def _shorten(workspace: Path) -> str:
    return escape_unprintable(str(workspace), 100)


def _shows_archived(arguments: argparse.Namespace) -> bool:
    return arguments.all or asks_for_archived(arguments.where or "")


def _choose(index: Index, arguments: argparse.Namespace) -> set[str] | None:
    """The runs that ``--where`` and ``--data`` ask for, by rows that are up to date; None for all. Raises InputError."""
    if arguments.where is None and arguments.data is None:
        return None
    index.catch_up()
    chosen = _ask(index, arguments)
    if chosen is None:  # the database is away: the folders know it, too
        with closing(Index(workspace_of(arguments), "sqlite://")) as rebuilt:
            rebuilt.runs()
            rebuilt.catch_up()
            chosen = _ask(rebuilt, arguments)
    if chosen is None:
        raise InputError("The runs cannot be filtered: no database can be used here; the log says why.")
    return chosen


def _ask(index: Index, arguments: argparse.Namespace) -> set[str] | None:
    found: list[set[str] | None] = []
    if arguments.where is not None:
        found.append(index.find(parse(arguments.where, index.names())))
    if arguments.data is not None:
        runs = index.find_data(arguments.data)
        found.append(None if runs is None else _only_one(arguments.data, runs))
    return None if None in found else set.intersection(*(each for each in found if each is not None))


def _only_one(beginning: str, runs: Mapping[str, str]) -> set[str]:
    """The runs on the one data whose fingerprint begins so. Raises InputError where that is none, or several."""
    known = sorted(set(filter(None, runs.values())))
    if len(known) != 1 or not beginning:
        several = f"several begin like that ({', '.join(each[:12] for each in known[:5])}); type more of it."
        none = "no run is on data of this fingerprint; python -m training show RUN tells that of a run."
        raise InputError(f"--data {escape_unprintable(beginning, 80)}: {several if len(known) > 1 else none}")
    return set(runs)


def _print_best(arguments: argparse.Namespace) -> int:
    """The best epoch by a metric, and where its checkpoint is gone the best that has one."""
    name, workspace = metric_name(arguments.best), workspace_of(arguments)
    found = _find_best(Index(workspace), name, arguments)
    if found is None:  # the database is away: the folders know it, too
        with closing(Index(workspace, "sqlite://")) as read_anew:
            found = _find_best(read_anew, name, arguments)
    best, kept = found or (None, None)
    if best is None:
        chosen = " that was chosen" if _is_choosy(arguments) else ""
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
        if not _is_choosy(arguments):
            return index.best(name)
        chosen, abouts = _choose(index, arguments), index.abouts()
        wanted = (record for record in records if chosen is None or record.run in chosen)
        return index.best(name, [each.run for each in wanted if _is_chosen(each, abouts[each.run], arguments)])


def _is_choosy(arguments: argparse.Namespace) -> bool:
    return any(given is not None for given in (arguments.dataset, arguments.name, arguments.where, arguments.data))


def _is_chosen(record: StatusRecord, about: About, arguments: argparse.Namespace) -> bool:
    """Whether a run has the name, and the data by their kind or a part of their path, that are asked for."""
    if arguments.name and arguments.name not in (name_of(record, about), record.run):
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
