"""Where the time of a run's steps goes: a ``Watch`` hears each part of a step end, a ``Profiler`` makes the record of it.

A watch looks at clocks only. It draws no random number, changes no tensor and waits for no device, so a run that is
watched is the same run to the bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import get_args

import numpy as np
import torch

from training.control import Control
from training.data import Data
from training.data.processes import core_count
from training.engine.device import describe_device
from training.engine.session import Session, no_watch
from training.events import Event, Found, ProfileBegun, Profiled
from training.runs.folder import RunFolder
from training.runs.profile_record import (
    OUTSIDE,
    STEP_PARTS,
    FirstSteps,
    Lap,
    Outside,
    OutsideTime,
    PartTime,
    Profile,
    StepPart,
    write_profile,
)
from training.runs.storage import storage_error

WARM_UP = 10
"""Steps kept apart at the start of a run: memory is taken, threads start, a compiler works."""

ASKED_SECONDS = 5.0
ASKED_STEPS = 10
"""How long a running engine measures when it is asked to: whichever takes longer. Logging comes ten times a second, so a
fixed number of short steps would miss it."""

_MOST_KEPT = 4096
"""Steps kept one by one for median and percentile; of more, every second one, every fourth one ..."""

_COLUMNS = (*STEP_PARTS, *OUTSIDE)
_COLUMN: dict[str, int] = {name: column for column, name in enumerate(_COLUMNS)} | {"data": STEP_PARTS.index("copy")}
_LAPS: tuple[Lap, ...] = get_args(Lap)
_NUMBER = {lap: number for number, lap in enumerate(_LAPS)}
_COLUMN_OF_LAP = np.array([_COLUMN[lap] for lap in _LAPS])
_FETCHES_DATA = np.array([lap == "data" for lap in _LAPS])
_COMES_LAST = np.array([lap in ("logging", *OUTSIDE) for lap in _LAPS])


Mark = tuple[Lap, float, float, torch.cuda.Event | None, bool]
"""The end of a part: its name, the processor's clock, the seconds waited for data so far, and on a GPU the place in its
work, and whether it had caught up with what it was given. A bare tuple, as it is made eight times a step."""


class Watch:
    """Hears the end of each part as ``Session.lap`` and adds up, a few times a second, where the time went.

    On a processor a part is the time between two looks at the clock. On CUDA work is only handed over there, so each look
    is an event on the stream that computes; those which have happened are read by ``fold``, never waited for.
    """

    def __init__(self, data: Data, device: torch.device, warm_up: int = 0) -> None:
        self._data = data
        self._device = device
        self._warm_up = warm_up
        self._marks: list[Mark] = []
        self._free: list[torch.cuda.Event] = []
        self._rows: list[np.ndarray] = []  # seconds of each part of the steps that are kept one by one
        self._stride = 1
        self._sums = np.zeros(len(_COLUMNS))
        self._times = np.zeros(len(_COLUMNS), np.int64)
        self._starved = 0
        self.steps = 0
        self.first = 0  # steps of the warm-up
        self.first_seconds = 0.0
        self.lap: Callable[[Lap], None] = self._on_cuda if device.type == "cuda" else self._on_host()
        self.lap("logging")  # from here on

    def _on_host(self) -> Callable[[Lap], None]:
        marks, data, now = self._marks, self._data, time.perf_counter

        def lap(part: Lap) -> None:
            marks.append((part, now(), data.waited, None, False))

        return lap

    def _on_cuda(self, part: Lap) -> None:
        event = self._free.pop() if self._free else torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        starved = False
        if part == "update" and len(self._marks) > 1 and self._marks[-1][0] == "clip":
            # All of the step is handed over. A GPU that has done the backward pass by now waits for more.
            backward = self._marks[-2][3]
            starved = backward is not None and backward.query()
        self._marks.append((part, time.perf_counter(), self._data.waited, event, starved))

    def fold(self, last: bool = False) -> None:
        """Add up the steps that are over; with ``last`` also the one that just ends."""
        marks = self._marks[: self._known()]
        laps = np.array([_NUMBER[mark[0]] for mark in marks], np.int64)
        ends = _COMES_LAST[laps]
        begins = np.flatnonzero(ends[:-1] & ~ends[1:]) + 1  # the first mark of each step
        if last and len(marks) and ends[-1]:
            begins = np.append(begins, len(marks))
        if len(begins) < 2:
            return
        begin, end = int(begins[0]), int(begins[-1])
        laps = laps[begin:end]
        _, moments, counters, events, starving = zip(*marks[begin - 1 : end], strict=True)
        lengths = np.diff(moments) if events[0] is None else _between(events)
        rises = np.diff(counters)
        # The recorder sets the counter back at a flush, always before the end of a "logging" or "validation".
        waited = np.where(rises < 0.0, counters[1:], rises) * _FETCHES_DATA[laps]
        waited = np.minimum(waited, lengths)
        steps = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
        shape = len(begins) - 1, len(_COLUMNS)
        cells = np.ravel_multi_index((steps, _COLUMN_OF_LAP[laps]), shape)
        table = np.bincount(cells, lengths - waited, shape[0] * shape[1]).reshape(shape)
        table[:, _COLUMN["wait"]] = np.bincount(steps, waited, shape[0])
        self._add(table, np.bincount(steps, starving[1:], shape[0]) > 0)
        self._free.extend(event for event in events[:-1] if event is not None)
        del self._marks[: end - 1]  # the mark before the next step's first one is where that step begins

    def _known(self) -> int:
        """How many marks can be read by now: on a GPU those that it has come by."""
        count = len(self._marks)
        while count and (event := self._marks[count - 1][3]) is not None and not event.query():
            count -= 1
        return count

    def _add(self, table: np.ndarray, starved: np.ndarray) -> None:
        inside = table[:, : len(STEP_PARTS)]
        warm = min(max(self._warm_up - self.first, 0), len(table))
        self.first += warm
        self.first_seconds += float(inside[:warm].sum())
        self._sums[len(STEP_PARTS) :] += table[:warm, len(STEP_PARTS) :].sum(0)
        self._times += (table > 0.0).sum(0)
        table, inside = table[warm:], inside[warm:]
        self._sums += table.sum(0)
        self._starved += int(starved[warm:].sum())
        self._rows.append(inside[(np.arange(len(inside)) + self.steps) % self._stride == 0])
        self.steps += len(table)
        while sum(map(len, self._rows)) > _MOST_KEPT:
            self._rows = [np.concatenate(self._rows)[::2]]
            self._stride *= 2

    def seconds(self) -> float:
        """Of all the steps measured."""
        return float(self._sums[: len(STEP_PARTS)].sum())

    def whole_steps(self) -> tuple[float, float]:
        """Median and 95th percentile of a step's seconds."""
        return _quantiles(self._kept().sum(1))

    def parts(self) -> dict[StepPart, PartTime]:
        """The parts that took any time."""
        kept, found = self._kept(), {}
        for column, part in enumerate(STEP_PARTS):
            if self._sums[column] > 0.0:
                median, p95 = _quantiles(kept[:, column])
                total = float(self._sums[column])
                found[part] = PartTime(seconds=total, mean=total / self.steps, median=median, p95=p95)
        return found

    def outside(self) -> dict[Outside, OutsideTime]:
        """What came between the steps, the first ones included."""
        columns = ((part, _COLUMN[part]) for part in OUTSIDE)
        return {
            part: OutsideTime(seconds=float(self._sums[column]), times=int(self._times[column]))
            for part, column in columns
            if self._times[column]
        }

    @property
    def starved(self) -> float | None:
        """Share of the steps in which the GPU waited for the processor; None where that is not known: without a GPU, and
        where steps are compiled or recorded, so that nothing is seen of their inside."""
        known = self._device.type == "cuda" and self.steps and not self._times[_COLUMN["step"]]
        return self._starved / self.steps if known else None

    def _kept(self) -> np.ndarray:
        return np.concatenate(self._rows) if self._rows else np.zeros((0, len(STEP_PARTS)))


def _between(events: Sequence[torch.cuda.Event | None]) -> np.ndarray:
    """Seconds from each event to the next."""
    there = [event for event in events if event is not None]
    return np.array([before.elapsed_time(after) / 1000.0 for before, after in pairwise(there)])


def _quantiles(values: np.ndarray) -> tuple[float, float]:
    return (float(np.median(values)), float(np.percentile(values, 95))) if len(values) else (0.0, 0.0)


class Profiler:
    """Measures while somebody wants to know, and writes ``profile.json``."""

    def __init__(self, session: Session, folder: RunFolder, emit: Callable[[Event], None]) -> None:
        self._session = session
        self._folder = folder
        self._emit = emit
        self._watch: Watch | None = None
        self._to_the_end = False

    def watch_all(self) -> None:
        """Measure from here to the end of the attempt, its first steps apart."""
        remaining = self._session.total_steps - self._session.progress.step
        self._to_the_end = True
        self._begin(warm_up=min(WARM_UP, remaining // 4))

    def look(self, control: Control) -> None:
        """Begin where ``control`` asks for it, and end when enough was seen. To be called at each flush."""
        if self._watch is not None:
            self._watch.fold()
            if self._to_the_end:
                if control.profile and self._watch.steps:
                    self._write(self._watch)  # what there is by now
                    control.profile = False
            elif self._watch.seconds() >= ASKED_SECONDS and self._watch.steps >= ASKED_STEPS:
                self.end()
        elif control.profile:
            step = self._session.progress.step
            self._emit(ProfileBegun(step=step, steps=ASKED_STEPS, seconds=ASKED_SECONDS))
            self._begin()
        if not self._to_the_end:
            control.profile = False

    def end(self) -> None:
        """Measure no longer, and write down what was seen."""
        watch, self._watch = self._watch, None
        if watch is None:
            return
        self._session.lap = no_watch
        watch.fold(last=True)
        if watch.steps:
            self._write(watch)
        else:
            title = "Nothing was profiled: too few steps were made."
            self._emit(Found(level="info", title=title, step=self._session.progress.step))

    def _begin(self, warm_up: int = 0) -> None:
        self._watch = Watch(self._session.data, self._session.device, warm_up)
        self._session.lap = self._watch.lap

    def _write(self, watch: Watch) -> None:
        step = self._session.progress.step
        try:
            write_profile(self._folder, self._record(watch))
        except OSError as error:  # the run itself does not need it
            fault = storage_error(error, self._folder.profile_file)
            title = f"The profile could not be written: {fault.message}"
            self._emit(Found(level="warning", title=title, step=step))
            return
        self._emit(Profiled(step=step, steps=watch.steps))

    def _record(self, watch: Watch) -> Profile:
        session, batches = self._session, self._session.data.report["batches"]
        seconds, (median, p95) = watch.seconds(), watch.whole_steps()
        samples = watch.steps * session.data.plan.n / session.data.steps_per_epoch
        on_gpu = session.device.type != "cpu"
        return Profile(
            time=time.time(),
            last_step=session.progress.step,
            steps=watch.steps,
            seconds=seconds,
            median=median,
            p95=p95,
            samples_per_second=samples / seconds if seconds else 0.0,
            device=describe_device(session.device)[:200],
            on_gpu=on_gpu,
            clock="device" if session.device.type == "cuda" else "host",
            batches=batches["mode"],
            workers=batches["workers"],
            cores=core_count(),
            cached=bool(session.data.source.supply),
            parts=watch.parts(),
            first=FirstSteps(steps=watch.first, seconds=watch.first_seconds),
            outside=watch.outside(),
            starved=watch.starved,
        )
