"""``python -m training exclude``: samples of a run put on an exclude list, or taken off it."""

from __future__ import annotations

import argparse
from pathlib import Path

from training.cli.options import workspace_of
from training.errors import InputError, list_first, pluralize
from training.exclude_list import add_to_list, read_exclude_list, remove_from_list
from training.predictions.reading import list_evaluations
from training.predictions.record import PARTS
from training.runs.folder import RunFolder
from training.runs.workspace import find_run
from training.streams import print_json, say

_MOST_NAMED = 10


def exclude(arguments: argparse.Namespace) -> int:
    """Change the list; returns the exit code."""
    folder = find_run(arguments.run, workspace_of(arguments))
    path: Path = arguments.list
    entries = _find_entries(folder, arguments.samples)
    if arguments.remove:
        changed, word, why_none = remove_from_list(path, entries), "taken off", "none of them is on it"
    else:
        changed, word, why_none = add_to_list(path, entries), "put on", "all of them are on it already"
    listed = len(read_exclude_list(path))
    if changed:
        say(
            f"{pluralize(changed, 'sample')} {word} {path}, which has {listed:,} now. Asked for: {_list_names(entries)}."
        )
    else:
        say(f"{path} was not changed: {why_none}.")
    if not arguments.remove:
        say(f"A run leaves them out with --set dataset.exclude={path}.")
    if arguments.json:
        print_json({"run": folder.id, "list": str(path), "changed": changed, "listed": listed, "samples": entries})
    return 0


def _list_names(entries: dict[str, str]) -> str:
    """By them a person who gave the number of a row, which counts from 1, sees that it is another sample."""
    return list_first(list(entries.values())[:_MOST_NAMED], len(entries))


def _find_entries(folder: RunFolder, numbers: list[int]) -> dict[str, str]:
    """The digests and the names of samples that an evaluation of the run has. Raises InputError for a number that none has."""
    found: dict[int, tuple[str, str]] = {}
    for evaluation in list_evaluations(folder):
        if (
            evaluation.record.on in PARTS and (digests := evaluation.digests) is not None
        ):  # others are numbered elsewhere
            rows = {number: row for row, number in enumerate(evaluation.column("index").tolist())}
            found |= {each: (digests[rows[each]], evaluation.names[rows[each]]) for each in numbers if each in rows}
    config = folder.readable_config()
    if config is not None and config.dataset.no_exclude:
        raise InputError(f"{config.dataset.kind} has no exclude list: {config.dataset.no_exclude}.")
    if missing := [number for number in numbers if number not in found]:
        raise InputError(
            f"{missing[0]}: no evaluation of the run {folder.id} has a sample of this number.",
            "Evaluate the part that it is in first, such as python -m training evaluate RUN --on train. "
            "Data that differs from epoch to epoch has no exclude list.",
        )
    return dict(found[number] for number in numbers)
