"""To which files of code the person at this computer said yes. By digest: a file that changes has to be asked for again."""

from __future__ import annotations

import json
import time
from pathlib import Path

from pydantic import JsonValue

from training.system.atomic import write_text
from training.system.places import data_folder
from training.system.untrusted import MEGABYTE, parse_json, read_bytes

_MOST_BYTES = MEGABYTE


def _store() -> Path:
    """With the person's own data, not with a run or a configuration, which may come from anybody."""
    return data_folder() / "trusted.json"


def is_agreed(digest: str) -> bool:
    """Whether the file of this SHA-256 may be run here."""
    return digest in _read_agreed()


def agree(digest: str, file: str) -> None:
    """The person has said yes; ``file`` is kept to tell later what that was. Raises OSError where nothing can be written."""
    known = _read_agreed()
    if digest in known:
        return
    store = _store()
    store.parent.mkdir(parents=True, exist_ok=True)
    write_text(store, json.dumps({**known, digest: {"file": file, "time": time.time()}}, indent=1) + "\n")


def _read_agreed() -> dict[str, JsonValue]:
    try:
        record = parse_json(read_bytes(_store(), _MOST_BYTES))
    except (OSError, ValueError):  # none yet, or damaged: then everything is asked for again
        return {}
    return record if isinstance(record, dict) else {}
