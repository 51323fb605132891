"""Where engines that were made by us lie, and what is remembered of all: which a person added, and what trials answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from filelock import FileLock

from training.errors import InputError
from training.system.atomic import write_text
from training.system.places import data_folder
from training.system.untrusted import UnfitFile, parse_json, read_bytes

ENGINE_FILE: Final = "trainwright-engine.json"
"""In the folder of an engine of ours: what was asked for and what came. There is none in an unfinished one."""
PARTIAL: Final = ".partial"
"""How the folder of an unfinished one ends."""
_MOST_BYTES = 1 << 22


def engines_folder() -> Path:
    """Where they are installed, each in a folder of its own."""
    return data_folder() / "engines"


def memory_file() -> Path:
    """Where it is remembered."""
    return data_folder() / "engines.json"


def list_added() -> list[str]:
    """The interpreters that a person added, the first one first."""
    added = read_record(memory_file()).get("added")
    return [each for each in added if isinstance(each, str)] if isinstance(added, list) else []


def read_trials() -> dict[str, Any]:
    """What trials answered, by the interpreter."""
    trials = read_record(memory_file()).get("trials")
    return dict(trials) if isinstance(trials, dict) else {}


def remember(change: Callable[[dict[str, Any]], object]) -> None:
    """Change what is remembered. Raises InputError where it cannot be written."""
    path = memory_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock"), timeout=30.0):
            record = read_record(path)
            change(record)
            write_record(path, record)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error}); make it writable.") from error


def read_record(path: Path) -> dict[str, Any]:
    """A JSON object of ours; empty where there is none, or it was damaged: all in it can be found out again."""
    try:
        data = parse_json(read_bytes(path, _MOST_BYTES))
    except (OSError, UnfitFile, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Replace it. Raises OSError."""
    write_text(path, json.dumps(dict(record), indent=1) + "\n")
