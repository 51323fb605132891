"""One run among several: each of its curves, over steps, epochs, samples or time."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from training.config.diff import flatten
from training.errors import InputError
from training.runs.folder import AT_WORK, DAMAGED, RunFolder
from training.runs.pyramid.curve import MinMaxPyramid, Pyramid
from training.runs.pyramid.levels import Floats
from training.runs.pyramid.stored import StoredSeries
from training.runs.records.curves import count_step_samples, measure_step_seconds
from training.runs.records.forms import StatusRecord
from training.runs.records.history import History, identify_file
from training.toml_text import Toml

Axis = Literal["step", "epoch", "samples", "time"]

_OF_STEPS: Final = {"train/loss": "loss", "grad_norm": "grad_norm", "lr": "lr"}


class ComparedRun:
    """The run in ``folder`` as it was when it was opened, and as it grows. Raises InputError or OSError for one that cannot be read.

    ``settings`` are its flattened settings, empty where they cannot be read; ``record`` is its status.
    """

    def __init__(self, folder: RunFolder, *, files: bool = True) -> None:
        """``files``: look at the series, too, not only at settings and results."""
        self.folder = folder
        self.record: StatusRecord = folder.status()
        if self.record.status == DAMAGED:
            raise InputError(f"left out, since it is damaged: {self.record.reason}")
        config = folder.readable_config()
        self.settings: dict[str, Toml] = flatten(config) if config else {}
        self._config = config
        self._history = History(folder.events_file)
        self._history.poll()
        self._attempts, self._events_file = len(self._history.attempts), identify_file(folder.events_file)
        self._series: dict[str, StoredSeries] = {}
        self._homes: dict[str, tuple[str, str]] = {}  # of each curve the file and its name there
        self._positions: dict[tuple[str, Axis], Floats] = {}
        self._elapsed: Floats | None = None  # seconds of training up to each step, until it grows
        if files:
            self._open(keep=self.record.status not in AT_WORK)

    @property
    def is_growing(self) -> bool:
        """Whether a process was working on it."""
        return self.record.status in AT_WORK

    def names(self) -> list[str]:
        """Its curves: of each step "train/loss", "lr" and "grad_norm", of validations their metrics, of files of columns
        "parts/NAME" and "layers/NAME"."""
        metrics = dict.fromkeys(name for event in self._history.validations for name in event.metrics)
        return [*(name for name in self._homes if "/" not in name or name == "train/loss"), *metrics, *self._columns()]

    def curve(self, name: str, axis: Axis = "step") -> Pyramid | None:
        """A curve over ``axis``: None where the run has none of that name, or does not tell where its steps lie on that axis."""
        if name not in self._homes:
            return self._find_validations(name, axis)
        file, column = self._homes[name]
        series = self._series[file]
        positions = self._positions.get((file, axis))
        if positions is None or len(positions) != len(series.steps):
            found = self.place(series.steps, axis)
            if found is None:
                return None
            positions = self._positions[file, axis] = found
        return series.curve(column, positions)

    def place(self, steps: Floats, axis: Axis) -> Floats | None:
        """Where steps lie on an axis, ``time`` in seconds of training; None where that is not known."""
        if axis == "step":
            return steps
        if axis == "epoch":
            per_epoch = self._history.attempts[-1].steps_per_epoch if self._history.attempts else 0
            return steps / per_epoch if per_epoch else None
        counts = count_step_samples(self._config, self._history)
        if counts is None:
            return None
        if axis == "samples":
            return counts.up_to(steps.astype(np.int64)).astype(np.float64)
        seconds = self._elapsed
        if seconds is None:
            of_each = measure_step_seconds(self.folder, self._history, counts)
            seconds = self._elapsed = np.cumsum(np.concatenate([[0.0], of_each]))
        return seconds[np.minimum(steps.astype(np.int64), len(seconds) - 1)] if seconds[-1] > 0 else None

    def grow(self) -> bool:
        """Take up what the run has done since; False where it must be opened again, because it went back or was begun again."""
        self._history.poll()
        if identify_file(self.folder.events_file) != self._events_file or len(self._history.attempts) != self._attempts:
            return False
        self.record = self.folder.status()
        self._elapsed = None
        return all(series.grow() >= 0 for series in self._series.values())

    def _open(self, *, keep: bool) -> None:
        folder = self.folder
        found = [("", folder.series_file), *((path.stem, path) for path in folder.column_files if path.is_file())]
        for prefix, path in found:
            if not path.is_file():
                continue
            try:
                series = self._series[path.name] = StoredSeries(path, keep=keep)
            except InputError:
                if not prefix:
                    raise
                continue  # it has its curves all the same
            own = {f"{prefix}/{name}": name for name in series.names} if prefix else _OF_STEPS
            self._homes.update({name: (path.name, column) for name, column in own.items()})

    def _columns(self) -> list[str]:
        return [name for name, (file, _) in self._homes.items() if file != self.folder.series_file.name]

    def _find_validations(self, name: str, axis: Axis) -> Pyramid | None:
        found = {event.step: event.metrics[name] for event in self._history.validations if name in event.metrics}
        steps = np.array(sorted(found), dtype=np.float64)
        positions = self.place(steps, axis) if len(steps) else None
        if positions is None:
            return None
        made = MinMaxPyramid()
        made.append(positions, [found[step] for step in sorted(found)])
        return made
