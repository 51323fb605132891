"""``Recorded``: what a run has written down up to a step, as judges see it."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from training.config import RunConfig
from training.config.sections.schedule import OneCycle
from training.core.durations import count_duration
from training.data_report import DataReport
from training.diagnosis.level import Level, drop_skipped, smooth, start_loss
from training.errors import InputError
from training.events import AttemptStarted, Completed, EpochEnded, Finding, StepSkipped, Validated
from training.runs.folder import RunFolder
from training.runs.records.columns import ColumnsReader
from training.runs.records.history import read_history
from training.runs.records.series import FLUSH_ROW, STEP_ROW, Rows, SeriesReader
from training.system.untrusted import UnfitFile

LEAST_WARMUP, WARMUP_SHARE = 20, 0.05
"""Steps, and the share of a run, in which nothing but non-finite values and divergence is judged."""


@dataclass(frozen=True)
class LayerRows:
    """Rows of a file of columns: ``names`` are those of the columns, ``rows`` hold ``step`` and ``values`` (columns,)."""

    names: tuple[str, ...]
    rows: Rows


@dataclass(frozen=True)
class Recorded:
    """What a run has recorded up to ``step``.

    ``steps`` are rows of STEP_ROW, row i that of step i + 1; ``telemetry`` rows of FLUSH_ROW. ``validations`` are those that the
    settings call for, in order of steps, one at a step: of what was asked for in between nothing follows. ``findings`` are all
    that were told. ``ended`` is why it completed ("" for all steps done), None where it did not. ``data`` is what was told of the
    data, and ``parameters`` how many the network has, None and 0 where nobody told. ``folder`` is for what is read
    when it is needed; None in tests.
    """

    config: RunConfig
    total_steps: int
    steps_per_epoch: int
    step: int
    steps: Rows
    validations: tuple[Validated, ...] = ()
    epochs: tuple[EpochEnded, ...] = ()
    layers: LayerRows | None = None
    units: LayerRows | None = None
    telemetry: Rows | None = None
    skips: tuple[StepSkipped, ...] = ()
    findings: tuple[Finding, ...] = ()
    ended: str | None = None
    data: DataReport | None = None
    parameters: int = 0
    folder: RunFolder | None = None

    @cached_property
    def warmup(self) -> int:
        """The first step behind warm-up: that of the schedule (the first half of one cycle's rise), at least 20 steps and 5 % of the
        run."""
        schedule, total = self.config.schedule, self.total_steps
        if isinstance(schedule, OneCycle):
            rising = round(schedule.pct_start * total / 2)
        else:
            rising = count_duration(schedule.warmup, total, self.steps_per_epoch)
        return max(rising, LEAST_WARMUP, round(WARMUP_SHARE * total)) + 1

    @cached_property
    def made(self) -> Rows:
        """The rows of steps that were made, and whose loss is a number."""
        return drop_skipped(self.steps)

    @cached_property
    def judged(self) -> Rows:
        """Of these, the rows behind warm-up."""
        return self.made[np.searchsorted(self.made["step"], self.warmup) :]

    @cached_property
    def levels(self) -> list[Level]:
        """The training loss, smoothed."""
        return smooth(self.made)

    @cached_property
    def start(self) -> float:
        """The training loss of the untrained network; NaN before the first step."""
        return start_loss(self.made)

    def until(self, step: int) -> Recorded:
        """What was recorded up to ``step``: a run that stood there saw no more."""
        if step >= self.step:
            return self
        return replace(
            self,
            step=step,
            steps=cut_rows(self.steps, step),
            validations=_cut_events(self.validations, step),
            epochs=_cut_events(self.epochs, step),
            layers=_cut_columns(self.layers, step),
            units=_cut_columns(self.units, step),
            telemetry=None if self.telemetry is None else cut_rows(self.telemetry, step),
            skips=_cut_events(self.skips, step),
            findings=_cut_events(self.findings, step),
            ended=None,
        )

    def metric_values(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The steps at which the metric ``name`` ("val/loss") was measured, and its values, both (validations,)."""
        if (found := self._measured.get(name)) is None:
            measured = [(item.step, item.metrics[name]) for item in self.validations if name in item.metrics]
            steps, values = zip(*measured, strict=True) if measured else ((), ())
            found = self._measured[name] = np.array(steps, np.int64), np.array(values, np.float64)
        return found

    @cached_property
    def _measured(self) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """By the name of a metric, as far as somebody asked."""
        return {}


_F = TypeVar("_F")


def once(find: Callable[[Recorded], _F]) -> Callable[[Recorded], _F]:
    """``find``, that works but once for a ``Recorded``: judges share what it found."""
    name = f"{find.__module__}.{find.__qualname__}"

    @wraps(find)
    def find_once(run: Recorded) -> _F:
        found = vars(run)  # as ``cached_property`` does; ``replace`` begins without
        if name not in found:
            found[name] = find(run)
        return cast(_F, found[name])

    return find_once


def cut_rows(rows: Rows, step: int) -> Rows:
    """The rows up to ``step``; they are in its order."""
    return rows[: bisect.bisect_right(range(len(rows)), step, key=lambda row: int(rows["step"][row]))]


_E = TypeVar("_E", Validated, EpochEnded, StepSkipped, Finding)


def _cut_events(events: tuple[_E, ...], step: int) -> tuple[_E, ...]:
    return tuple(event for event in events if event.step <= step)


def _cut_columns(columns: LayerRows | None, step: int) -> LayerRows | None:
    return None if columns is None else replace(columns, rows=cut_rows(columns.rows, step))


class RecordReader:
    """Reads what a run has recorded, and at each further call only what is new. What becomes void (the run went back to an earlier
    step) is noticed where a file got shorter; who knows of it makes a new reader."""

    def __init__(self, folder: RunFolder, config: RunConfig | None = None) -> None:
        """``config`` stands for the one in the folder."""
        self._folder, self._config = folder, config
        self._history = read_history(folder.events_file)
        self._planned: tuple[list[Validated] | None, int, dict[int, Validated]] = None, 0, {}
        self._steps = _Grown(SeriesReader(folder.series_file, STEP_ROW))
        self._telemetry = _Grown(SeriesReader(folder.telemetry_file, FLUSH_ROW))
        self._layers = _Grown(ColumnsReader(folder.layers_file))
        self._units = _Grown(ColumnsReader(folder.units_file))

    def read(self) -> Recorded:
        """Raises InputError for a run that has not begun to train, or whose files are none of a run."""
        config = self._config or self._folder.config()
        history = self._history
        try:
            history.poll()
            steps, telemetry = self._steps.read(), self._telemetry.read()
        except UnfitFile as error:
            raise InputError(f"{self._folder.path}: {error.strerror}, so this run cannot be judged.") from error
        if not history.attempts:
            raise InputError(f"The run {self._folder.id} has not begun to train: there is nothing to judge yet.")
        attempt, final = history.attempts[-1], history.final
        return Recorded(
            config=config,
            total_steps=attempt.total_steps,
            steps_per_epoch=attempt.steps_per_epoch,
            step=int(steps["step"][-1]) if len(steps) else 0,
            steps=steps,
            validations=tuple(self._list_planned(config, attempt).values()),
            epochs=tuple({item.step: item for item in history.epochs}.values()),
            layers=_read_columns(self._layers),
            units=_read_columns(self._units),
            telemetry=telemetry,
            skips=tuple(history.skipped),
            findings=tuple(history.findings),
            ended=final.reason if isinstance(final, Completed) else None,
            data=history.data.report if history.data else None,
            parameters=attempt.parameters,
            folder=self._folder,
        )

    def _list_planned(self, config: RunConfig, attempt: AttemptStarted) -> dict[int, Validated]:
        """By their step, the validations that the settings call for: those that came since the last call are added."""
        validations, (seen, count, planned) = self._history.validations, self._planned
        if seen is not validations:  # another attempt began, or the run went back
            count, planned = 0, {}
        for item in validations[count:]:
            if is_planned(item, config, attempt.total_steps, attempt.steps_per_epoch):
                planned[item.step] = item
        self._planned = validations, len(validations), planned
        return planned


def is_planned(event: Validated, config: RunConfig, total_steps: int, steps_per_epoch: int) -> bool:
    """Whether the settings called for this validation; neither the test's measurement nor one that a person asked for is."""
    if not any(name.startswith("val/") for name in event.metrics):
        return False
    return calls_for_validation(event.step, config, total_steps, steps_per_epoch)


def calls_for_validation(step: int, config: RunConfig, total_steps: int, steps_per_epoch: int) -> bool:
    """Whether the settings call for a validation behind ``step``, as ``engine.validation`` goes by."""
    every = config.loop.validate_every_steps
    return step % steps_per_epoch == 0 or step == total_steps or bool(every and step % every == 0)


def read_recorded(folder: RunFolder) -> Recorded:
    """What a run has recorded so far, finished or not; nothing is changed. Raises as ``RecordReader.read`` does."""
    return RecordReader(folder).read()


class _Grown:
    """All rows of a file that grows, in one array with room to spare."""

    def __init__(self, reader: SeriesReader | ColumnsReader) -> None:
        self.reader = reader
        self._rows: Rows | None = None
        self._count = 0

    def read(self) -> Rows:
        cut, new = self.reader.read()
        if self._rows is None or cut or (len(new) and new.dtype != self._rows.dtype):
            self._rows, self._count = new.copy(), len(new)
        elif len(new):
            self._append(self._rows, new)
        return self._rows[: self._count]

    def _append(self, rows: Rows, new: Rows) -> None:
        count = self._count + len(new)
        if count > len(rows):
            grown = np.empty(max(2 * len(rows), count), rows.dtype)
            grown[: self._count] = rows[: self._count]
            self._rows = rows = grown
        rows[self._count : count] = new  # what was handed out before ends in front of them
        self._count = count


def _read_columns(grown: _Grown) -> LayerRows | None:
    rows = grown.read()
    columns = grown.reader.columns if isinstance(grown.reader, ColumnsReader) else None
    return LayerRows(columns.names, rows) if columns is not None and len(rows) else None
