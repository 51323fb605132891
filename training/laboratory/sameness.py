"""Whether two runs are the same to the bit: their curves, their validations, and the files of their checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from training.errors import CheckpointError
from training.events import Event
from training.laboratory.measure import Measured
from training.laboratory.record import Kill
from training.runs.records.history import read_history
from training.runs.records.manifest import WEIGHTS, checkpoint_folders, read_manifest, verify
from training.runs.records.series import read_series


@dataclass(frozen=True)
class Sameness:
    """``curve``: every step's loss, rate and norm and every validation are equal. ``weights``: so are all files of the
    last checkpoints, by their digests. ``whole``: every checkpoint on the disk is what its manifest says."""

    curve: bool
    weights: bool
    whole: bool
    steps: int
    digest: str
    sentence: str
    kill: Kill | None = None


def compare(mine: Measured, other: Measured, kill: Kill | None = None, killed_series: Path | None = None) -> Sameness:
    """Compare ``mine`` with ``other``; ``killed_series`` is what the killed process had written of its curve."""
    curve = mine.rows.tobytes() == other.rows.tobytes() and _read_measurements(mine) == _read_measurements(other)
    weights, found = _same_files(mine, other)
    faults = _faults(mine)
    steps = len(mine.rows)
    if curve and weights:
        sentence = (
            f"All {steps:,} steps, every validation and the last weights (SHA-256 {found[:12]}…) equal those of "
            f"{other.config.name} to the bit."
        )
    elif curve:
        sentence = (
            f"All {steps:,} steps equal those of {other.config.name} to the bit, but the last checkpoints differ."
        )
    else:
        sentence = f"The curve leaves that of {other.config.name} {_first_difference(mine, other)}."
    if killed_series is not None and killed_series.is_file():
        before = read_series(killed_series)
        repeated = before.tobytes() == mine.rows[: len(before)].tobytes()
        curve = curve and repeated
        sentence += (
            f" The {len(before):,} steps that the killed process had written are repeated exactly."
            if repeated
            else " What the killed process had written is not repeated."
        )
    sentence += " Every checkpoint on the disk matches its digests." if not faults else f" {faults[0]}"
    return Sameness(curve, weights, not faults, steps, found, sentence, kill)


def _read_measurements(measured: Measured) -> list[Event]:
    history = read_history(measured.folder.events_file)
    return [replace(event, time=0.0) for event in (*history.validations, *history.epochs)]


def _same_files(mine: Measured, other: Measured) -> tuple[bool, str]:
    """Whether the checkpoints at the last step hold the same files, and the digest of the weights in mine."""
    try:
        last = [read_manifest(checkpoint_folders(item.folder)[0]) for item in (mine, other)]
    except (CheckpointError, IndexError):
        return False, ""
    same = (last[0].files, last[0].step) == (last[1].files, last[1].step)
    return same, last[0].files[WEIGHTS].sha256


def _faults(measured: Measured) -> list[str]:
    """A sentence for each checkpoint of the run that is not what its manifest says."""
    found = []
    for path in checkpoint_folders(measured.folder):
        try:
            verify(path)
        except CheckpointError as error:
            found.append(str(error))
    return found


def _first_difference(mine: Measured, other: Measured) -> str:
    count = min(len(mine.rows), len(other.rows))
    for name in mine.rows.dtype.names or ():
        apart = np.flatnonzero(mine.rows[name][:count] != other.rows[name][:count])
        if len(apart):
            return f"at step {int(apart[0]) + 1:,} ({name})"
    return f"in its length: {len(mine.rows):,} steps, not {len(other.rows):,}"
