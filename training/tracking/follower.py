"""What is new in a run's files, taken up into the ledger."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.events import AttemptStarted, EpochEnded, Event, Rewound, Validated
from training.runs.folder import RunFolder
from training.runs.records.history import History, identify_file
from training.runs.records.series import FLUSH_ROW, STEP_ROW, Rows, SeriesReader, count_rows, read_steps
from training.tracking.ledger import Ledger, Measured

_AT_ONCE = 50_000  # steps


class Follower:
    """Reads a run that may be at work."""

    def __init__(self, folder: RunFolder, ledger: Ledger) -> None:
        self._folder, self._ledger = folder, ledger
        self._begin()

    def _begin(self) -> None:
        self.history = History(self._folder.events_file)
        self._file = identify_file(self._folder.events_file)
        self._times = StepTimes(self._folder.telemetry_file)
        self._compared = 0

    def poll(self) -> None:
        """Take up what is new."""
        if identify_file(self._folder.events_file) != self._file:  # another state of the run took this one's place
            self._begin()
        while True:
            count = count_rows(self._folder.series_file, STEP_ROW)
            self._compared = min(self._compared, count)
            rows = read_steps(self._folder.series_file, self._compared + 1, min(count, self._compared + _AT_ONCE))
            # After the rows: an attempt is told of before its first row is written.
            events = self.history.poll()
            began = [event.step for event in events if isinstance(event, AttemptStarted | Rewound)]
            self._take_measured(self._drop_void(events) if began else events)
            if began:
                self._compared = min(self._compared, *began)
                continue
            if not len(rows):
                return
            self._ledger.take_rows(rows, self._times.assign(rows["step"], self.history.attempts))
            self._compared += len(rows)

    def explain(self, step: int) -> str:
        """Why points from ``step`` on may differ from those of an earlier attempt."""
        attempt = next((each for each in reversed(self.history.attempts) if each.step < step), None)
        if attempt is None or not attempt.changes:
            return "The resume was not exact"
        return f"From step {attempt.step:,} the run went on otherwise ({'; '.join(attempt.changes)})"

    def _drop_void(self, events: list[Event]) -> list[Event]:
        """Without what a later attempt makes again."""
        valid = set(map(id, [*self.history.validations, *self.history.epochs]))
        return [event for event in events if id(event) in valid]

    def _take_measured(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, Validated):
                self._ledger.take_measured(Measured(event.step, event.time, dict(event.metrics)))
            elif isinstance(event, EpochEnded) and "train/loss" in event.metrics:
                metrics = {"epoch/train_loss": event.metrics["train/loss"]}
                self._ledger.take_measured(Measured(event.step, event.time, metrics))


class StepTimes:
    """When steps were made, from the looks at the engine; each is read once, and held as long as steps to come may lie beside it."""

    def __init__(self, path: Path) -> None:
        self._reader = SeriesReader(path, FLUSH_ROW)
        self._looks: Rows = np.empty(0, FLUSH_ROW)

    def assign(self, steps: NDArray[np.int64], attempts: list[AttemptStarted]) -> NDArray[np.float64]:
        """``assign_times`` of consecutive steps that follow those asked for before, or of a new attempt."""
        cut, looks = self._reader.read()
        self._looks = looks if cut else np.concatenate([self._looks, looks])
        times = assign_times(steps, attempts, self._looks)
        if attempts:
            passed = (self._looks["time"] >= attempts[-1].time) & (self._looks["step"] <= steps[-1])
            if passed.any():  # the last of them begins the stretch of the next step
                self._looks = self._looks[np.flatnonzero(passed)[-1] :]
        return times


def assign_times(steps: NDArray[np.int64], attempts: list[AttemptStarted], looks: Rows) -> NDArray[np.float64]:
    """When each of ``steps`` was made, in seconds since 1970: between two looks at the engine, evenly. The last attempt that made a
    step counts."""
    times = np.zeros(len(steps))
    ends = [*(attempt.time for attempt in attempts[1:]), np.inf]
    for attempt, end in zip(attempts, ends, strict=True):
        seen = looks[(looks["time"] >= attempt.time) & (looks["time"] < end) & (looks["step"] > attempt.step)]
        known = np.concatenate([[attempt.step], seen["step"]]), np.concatenate([[attempt.time], seen["time"]])
        made = steps > attempt.step
        times[made] = np.interp(steps[made], *known)
    return times
