"""Where the exclude list of a run lies, and what becomes of samples that are put on it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from training.errors import InputError
from training.exclude_list import add_to_list, read_exclude_list
from training.predictions import Evaluation
from training.runs.folder import RunFolder, make_slug, read_json
from training.runs.relocation import config_here
from training.system.atomic import write_text

_FILE = "exclude-list.json"


def find_list(run: RunFolder) -> Path | None:
    """The list that was chosen for the run; else the one that its configuration names. None where there is none yet."""
    chosen = read_json(run.labels / _FILE).get("path")
    if isinstance(chosen, str) and Path(chosen).is_file():
        return Path(chosen)
    named = _read_named(run)
    return named if named is not None and named.is_file() else None


def would_leave_out_more(run: RunFolder) -> bool:
    """Whether the run's list names samples that the run itself was trained with, as far as can be read."""
    path = find_list(run)
    if path is None:
        return False
    try:
        left_out = read_exclude_list(run.exclude_file) if run.exclude_file.is_file() else {}
        return not read_exclude_list(path).keys() <= left_out.keys()
    except InputError:
        return True  # trying to use it says what is wrong with it


def propose_list(run: RunFolder, workspace: Path) -> Path:
    """Where a list is put that nobody chose a place for: in the workspace, called as the run."""
    config = run.readable_config()
    return workspace / f"{make_slug(config.name if config is not None else run.id)}-exclude.txt"


def choose_list(run: RunFolder, path: Path) -> None:
    """From now on the list of the run is ``path``; what the run left out already is put on it. Raises InputError, OSError."""
    if run.exclude_file.is_file():
        add_to_list(path, read_exclude_list(run.exclude_file))
    run.labels.mkdir(exist_ok=True)
    write_text(run.labels / _FILE, json.dumps({"path": str(path)}) + "\n")


def describe_rows(evaluation: Evaluation, rows: list[int]) -> dict[str, str]:
    """The digests of samples and their names. Raises InputError where the data has no exclude list."""
    if evaluation.digests is None or not evaluation.record.part:
        config = RunFolder(evaluation.folder.parent.parent).readable_config()
        if config is not None and evaluation.record.part and (why := config.dataset.no_exclude):
            raise InputError(f"{config.dataset.kind} has no exclude list: {why}.")
        raise InputError(
            "These samples cannot be put on an exclude list.",
            "Evaluate a part of a run's data; data that differs from epoch to epoch has no such list.",
        )
    return {evaluation.digests[row]: str(evaluation.names[row]) for row in rows}


def find_listed(evaluation: Evaluation, rows: Iterable[int]) -> set[int]:
    """Those of ``rows`` whose samples are on the list of the evaluation's run, as far as can be read."""
    path = find_list(RunFolder(evaluation.folder.parent.parent))
    if path is None or evaluation.digests is None:
        return set()
    try:
        known = read_exclude_list(path)
    except InputError:
        return set()  # trying to use it says what is wrong with it
    return {row for row in rows if evaluation.digests[row] in known}


def put_on_list(path: Path, entries: Mapping[str, str]) -> dict[str, str]:
    """Add ``entries``; returns those that the list lacked. Raises InputError, having changed nothing."""
    known = read_exclude_list(path) if path.is_file() else {}
    new = {digest: name for digest, name in entries.items() if digest not in known}
    add_to_list(path, new)
    return new


def _read_named(run: RunFolder) -> Path | None:
    try:
        named = getattr(config_here(run).dataset, "exclude", None)
    except InputError:
        return None
    return Path(named) if named else None
