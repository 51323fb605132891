"""Who trains a run that several processes share: ``ranks/ranks.json``, and the folder that each but the first writes beside the run."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from training.runs.records.forms import Count, Record
from training.system.atomic import write_text
from training.system.untrusted import MEGABYTE, parse_json, read_bytes

_RANKS = "ranks"
_FILE = "ranks.json"


class RankRecord(Record):
    """One process: what it computes on."""

    rank: Count
    host: str
    process: Count
    device: str
    threads: Count


class RanksRecord(Record):
    """The processes of the newest attempt that had several."""

    slots: Count
    batch_size: Count
    ranks: tuple[RankRecord, ...]


def rank_folder(run: Path, rank: int) -> Path:
    """Where a rank other than 0 writes what it does: its log, its telemetry."""
    return run / _RANKS / str(rank)


def write_ranks(run: Path, record: RanksRecord) -> None:
    """Replace what is known of a run's processes. Raises OSError."""
    (run / _RANKS).mkdir(exist_ok=True)
    write_text(run / _RANKS / _FILE, json.dumps(record.dump(), indent=1) + "\n")


def read_ranks(run: Path) -> RanksRecord | None:
    """The processes of a run's newest attempt that had several; None where it never had, or the file cannot be read."""
    try:
        return RanksRecord.model_validate(parse_json(read_bytes(run / _RANKS / _FILE, MEGABYTE)), strict=False)
    except (OSError, ValueError, ValidationError):
        return None
