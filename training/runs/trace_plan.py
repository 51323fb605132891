"""How a skipped step of a run is reached again: which checkpoint it begins from, and how many steps lie between."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from training.errors import InputError, pluralize
from training.events import StepSkipped
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import list_checkpoints
from training.runs.records.series import FLUSH_ROW, read_series

_SHOWN = 5


@dataclass(frozen=True)
class TracePlan:
    """``skip`` of ``folder`` is reached from ``checkpoint`` (None: from the beginning), behind whose ``start`` steps others follow."""

    folder: RunFolder
    skip: StepSkipped
    checkpoint: Path | None
    start: int
    seconds: float | None
    """That the steps between took when they were trained; None where nobody knows."""

    @property
    def words(self) -> str:
        """What is going to be done, and how long it takes."""
        origin = f"step {self.start:,}, where a checkpoint lies" if self.checkpoint else "the beginning"
        took = f", which took {self.seconds:,.1f} s" if self.seconds is not None and self.seconds >= 0.1 else ""
        steps = self.skip.step - self.start
        return f"Step {self.skip.step:,} is computed again from {origin}: {pluralize(steps, 'step')}{took}."


def plan_trace(folder: RunFolder, step: int | None = None) -> TracePlan:
    """How the skipped ``step``, or the first that was skipped, is reached. Raises InputError where it was not skipped, or where
    nothing is left from which it can be reached."""
    skipped = {event.step: event for event in read_history(folder.events_file).skipped}
    if not skipped:
        raise InputError(f"No step of the run {folder.id} was skipped: there is nothing to trace.")
    wanted = min(skipped) if step is None else step
    if wanted not in skipped:
        some = ", ".join(f"{each:,}" for each in sorted(skipped)[:_SHOWN])
        more = f" and {len(skipped) - _SHOWN:,} more" if len(skipped) > _SHOWN else ""
        raise InputError(f"--trace: step {wanted} of the run {folder.id} was not skipped; {some}{more} were.")
    before = next((item for item in list_checkpoints(folder) if item.step < wanted), None)
    parent = folder.status().parent
    if before is None and parent is not None and parent.checkpoint:
        raise InputError(
            f"The run {folder.id} has no checkpoint before step {wanted}, and it began at a checkpoint of another run, so the step "
            "cannot be reached; trace it in a branch with a smaller checkpoints.every_steps."
        )
    start = before.step if before else 0
    return TracePlan(folder, skipped[wanted], before.path if before else None, start, _measure(folder, wanted - start))


def _measure(folder: RunFolder, steps: int) -> float | None:
    rows = read_series(folder.telemetry_file, FLUSH_ROW)
    gaps, made = np.diff(rows["time"]), np.diff(rows["step"])
    known = (made > 0) & (gaps > 0)
    return float(np.median(gaps[known] / made[known]) * steps) if known.any() else None
