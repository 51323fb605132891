"""Weights & Biases' offline file, read without its client: a log of LevelDB's kind, of protocol buffers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_BLOCK, _HEADER, _BEGIN = 32768, 7, 7


@dataclass
class OfflineRun:
    """``rows``: what was logged, step by step; ``config``: the settings."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)


def read_offline_run(file: Path) -> OfflineRun:
    """All that the tests ask for."""
    wandb_internal_pb2: Any = pytest.importorskip("wandb.proto.wandb_internal_pb2")
    run = OfflineRun()
    for record in _records(file.read_bytes()):
        message = wandb_internal_pb2.Record()
        message.ParseFromString(record)
        if message.HasField("history"):
            run.rows.append(_values(message.history.item))
        elif message.HasField("run"):
            run.config |= _values(message.run.config.update)
    return run


def _values(items: Any) -> dict[str, Any]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}


def _records(data: bytes) -> Iterator[bytes]:
    record, place = b"", _BEGIN
    while place + _HEADER <= len(data):
        if (left := _BLOCK - place % _BLOCK) < _HEADER:
            place += left
            continue
        size, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        record += data[place + _HEADER : place + _HEADER + size]
        place += _HEADER + size
        if kind in (1, 4):  # the whole, or its last part
            yield record
            record = b""
