"""What each process of a run does, as its own telemetry tells, and which of them the others wait for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import JsonValue

from training.errors import InputError, format_bytes, pluralize
from training.runs.folder import RunFolder
from training.runs.records.ranks import RankRecord, RanksRecord, rank_folder, read_ranks
from training.runs.records.series import FLUSH_ROW, Rows, read_newest

_LOOKS = 20
"""Rows that a figure is the mean of: about two seconds."""
_NOTABLE = 0.05
"""Where the shares of the time that processes wait for each other lie closer than this, none is called the slowest."""


@dataclass(frozen=True)
class RankLook:
    """One process at its newest looks: what it computes on, the memory that it holds there, and shares of its time. Numbers that are not
    known are NaN."""

    record: RankRecord
    memory_mb: float
    gpu_memory_mb: float
    samples_per_second: float
    wait_share: float
    ranks_wait_share: float

    @property
    def memory(self) -> str:
        """In words: the GPU's, where there is one."""
        size = self.gpu_memory_mb if self.gpu_memory_mb > 0 else self.memory_mb
        return format_bytes(size * 2**20) if math.isfinite(size) else ""

    def dump(self) -> dict[str, JsonValue]:
        """As JSON has it: null for what is not known."""
        names = ("memory_mb", "gpu_memory_mb", "samples_per_second", "wait_share", "ranks_wait_share")
        numbers = {name: float(getattr(self, name)) for name in names}
        return self.record.dump() | {name: value if math.isfinite(value) else None for name, value in numbers.items()}


def look_at_ranks(run: Path, since: float) -> tuple[RankLook, ...]:
    """The processes of a run whose newest attempt began at ``since``; none where that one had a single process, or none has made a step."""
    record = read_ranks(run)
    if record is None or len(record.ranks) < 2:
        return ()
    try:
        looks = tuple(_look(run, record, each) for each in record.ranks)
    except (OSError, InputError):  # they are being made, or are away
        return ()
    return tuple(look for look, _ in looks) if all(newest >= since for _, newest in looks) else ()


def find_slowest(looks: Sequence[RankLook]) -> RankLook | None:
    """The one that the others wait for: it waits least itself. None where no one is clearly slower than the rest."""
    waits = [look.ranks_wait_share for look in looks]
    if len(looks) < 2 or not all(map(math.isfinite, waits)) or max(waits) - min(waits) < _NOTABLE:
        return None
    return looks[waits.index(min(waits))]


def describe_slowest(looks: Sequence[RankLook]) -> str:
    """Which is the slowest, and what that costs the others, in one sentence."""
    slowest = find_slowest(looks)
    if slowest is None:
        return "No process is clearly slower than the others."
    lost = max(look.ranks_wait_share for look in looks) - slowest.ranks_wait_share
    return f"Rank {slowest.record.rank} is the slowest: others spend up to {lost:.0%} of the time waiting for it."


def describe_ranks(looks: Sequence[RankLook]) -> list[str]:
    """A line for each process, and one of the slowest."""
    lines = []
    for look in looks:
        where = f"{look.record.device}, {pluralize(look.record.threads, 'thread')}, {look.record.host}"
        waits = f"waits {look.wait_share:.0%} for data, {look.ranks_wait_share:.0%} for the others"
        rate = f"{look.samples_per_second:,.0f} samples/s"
        lines.append(f"rank {look.record.rank:<5} {where}; {look.memory}; {rate}; {waits}")
    return [*lines, describe_slowest(looks)] if lines else []


def _look(run: Path, record: RanksRecord, rank: RankRecord) -> tuple[RankLook, float]:
    """With the moment of its newest row."""
    folder = RunFolder(rank_folder(run, rank.rank) if rank.rank else run)
    rows = read_newest(folder.telemetry_file, FLUSH_ROW, _LOOKS)
    if not len(rows):
        return RankLook(rank, *[math.nan] * 5), -math.inf
    look = RankLook(
        record=rank,
        memory_mb=float(rows["memory_mb"][-1]),
        gpu_memory_mb=float(rows["gpu_memory_mb"][-1]),
        # What a step trains on is counted whole by each, and each has as many slots of it.
        samples_per_second=_mean(rows, "samples_per_second") / len(record.ranks),
        wait_share=_mean(rows, "wait_share"),
        ranks_wait_share=_mean(rows, "ranks_wait_share"),
    )
    return look, float(rows["time"][-1])


def _mean(rows: Rows, column: str) -> float:
    return float(np.mean(rows[column], dtype=np.float64))
