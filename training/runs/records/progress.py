"""How far a run is and how long it will still take."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from training.events import AttemptStarted, Event
from training.runs.records.forms import StatusRecord
from training.runs.records.series import Rows

_WINDOW = 20.0  # seconds of telemetry behind the forecast: long enough to be calm, short enough to follow a change


@dataclass(frozen=True)
class Progress:
    """Where a run is. ``eta`` in seconds is None while nobody can know; ``fraction`` is 0..1 or None."""

    step: int = 0
    total_steps: int = 0
    steps_per_epoch: int = 0
    epochs: int = 0
    samples_per_second: float = 0.0
    eta: float | None = None

    @property
    def epoch(self) -> int:
        """The epoch being worked on, counted from 1; 0 before the first step."""
        if not self.step or not self.steps_per_epoch:
            return 0
        return min((self.step - 1) // self.steps_per_epoch + 1, max(self.epochs, 1))

    @property
    def fraction(self) -> float | None:
        """Share of all steps done."""
        return min(self.step / self.total_steps, 1.0) if self.total_steps else None


class ProgressMeter:
    """Folds events, rows and telemetry of one run into a Progress."""

    def __init__(self) -> None:
        self._start: AttemptStarted | None = None
        self._step = 0
        self._looks: deque[tuple[float, int]] = deque()
        self._rate = 0.0

    def see_event(self, event: Event) -> None:
        """Take up the plan of an attempt."""
        if isinstance(event, AttemptStarted):
            self._start = event
            self._step = event.step
            self._looks.clear()

    def see_rows(self, rows: Rows) -> None:
        """Take up new steps."""
        self._step = int(rows["step"][-1])

    def see_truncation(self, step: int) -> None:
        """Steps after ``step`` are void."""
        self._step = min(self._step, step)
        self._looks.clear()

    def see_telemetry(self, rows: Rows) -> None:
        """Take up the engine's clock and throughput."""
        started = self._start.time if self._start else 0.0
        rows = rows[rows["time"] >= started]
        if not len(rows):
            return
        self._looks.extend((float(row["time"]), int(row["step"])) for row in rows[-400:])
        newest = self._looks[-1][0]
        while len(self._looks) > 2 and newest - self._looks[0][0] > _WINDOW:
            self._looks.popleft()
        recent = rows["samples_per_second"][-20:]
        recent = recent[np.isfinite(recent) & (recent > 0)]
        if len(recent):
            self._rate = float(np.mean(recent))

    def progress(self) -> Progress:
        """What is known now."""
        start = self._start
        if start is None:
            return Progress(step=self._step)
        return Progress(
            step=self._step,
            total_steps=start.total_steps,
            steps_per_epoch=start.steps_per_epoch,
            epochs=start.epochs,
            samples_per_second=self._rate,
            eta=self._eta(start.total_steps),
        )

    def _eta(self, total_steps: int) -> float | None:
        if len(self._looks) < 2:
            return None
        (first_time, first_step), (last_time, last_step) = self._looks[0], self._looks[-1]
        if last_step <= first_step or last_time <= first_time:
            return None
        return (total_steps - self._step) * (last_time - first_time) / (last_step - first_step)


def best_of(record: StatusRecord) -> tuple[str, float] | None:
    """``(metric, value)`` of a status record's best validation."""
    return (record.best.metric, record.best.value) if record.best else None


def worked_seconds(record: StatusRecord) -> float:
    """Seconds that were worked on a run: pauses, and the time between two attempts, are none."""
    if record.seconds is not None:
        return record.seconds
    # An earlier version did not count them.
    return max((record.ended or record.updated or record.created) - record.created, 0.0)
