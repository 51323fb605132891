"""Where the time of a run's steps goes: some seconds of them under ``torch.profiler``, whenever somebody asks.

What watches the steps is put in only while a profile is taken. It draws no random number and changes no tensor, so a run
that is profiled is the same run to the bit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from training.control import Control
from training.data import MicroBatches
from training.engine.checkpoint_saver import CheckpointSaver
from training.engine.device import describe_device
from training.engine.recovery.memory import OutOfMemory
from training.engine.runs.run_writer import RunWriter
from training.engine.session import Session
from training.events import Profiled, warn
from training.runs.step_profile import COMPUTING, OUTSIDE_TITLES, PART_TITLES, Profile, write_profile
from training.runs.storage import storage_error
from training.system.hardware import core_count

SECONDS = 5.0
LEAST_STEPS, MOST_STEPS = 10, 200
"""A profile ends after so many seconds and steps, or after so many steps: torch keeps every operation in memory."""

_PREFIX = "step: "


class Ranges:
    """The parts of a run as ranges of torch's profiler, each beginning where the one before ends."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._part = "logging"
        self._begin()
        self.waited = 0.0  # seconds, for samples

    def end(self) -> None:
        """End the last range. A GPU is waited for, so that each part has the time of its own work."""
        if self._session.device.type == "cuda":
            torch.cuda.synchronize(self._session.device)
        self._range.__exit__(None, None, None)

    def time_part(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, the time of which is that of ``part``, but for what goes to other parts inside."""

        def run_timed(*args: Any, **kwargs: Any) -> Any:
            before = self._switch(part)
            try:
                return function(*args, **kwargs)
            finally:
                self._switch(before)

        return run_timed

    def iterate(self, batches: Iterator[Any]) -> Iterator[Any]:
        """``batches``, the time of fetching which is that of "copy"; what of it is waiting is added to ``waited``."""

        def fetch() -> Any:
            before = self._session.data.waited
            try:
                return next(batches)
            finally:
                self.waited += self._session.data.waited - before

        return iter(self.time_part("copy", fetch), None)

    def _begin(self) -> None:
        self._range = record_function(f"{_PREFIX}{self._part}")
        self._range.__enter__()

    def _switch(self, part: str) -> str:
        self.end()
        before, self._part = self._part, part
        self._begin()
        return before


class Profiler:
    """Takes a profile when it is asked for, and writes ``profile.json``."""

    def __init__(self, session: Session, writer: RunWriter, out_of_memory: OutOfMemory, saver: CheckpointSaver) -> None:
        self._session = session
        self._writer = writer
        self._out_of_memory = out_of_memory
        self._saver = saver
        self._profile: profile | None = None

    def look(self, control: Control) -> bool:
        """Begin where ``control`` asks for it, and end when enough was seen; to be called at each flush. Returns whether that
        took time, which is no training time."""
        asked, control.profile = control.profile, False
        if self._profile is None:
            if asked:
                self._begin()
            return asked
        steps, seconds = self._session.progress.step - self._first, time.perf_counter() - self._began
        enough = steps >= MOST_STEPS or (steps >= LEAST_STEPS and seconds >= SECONDS)
        if enough or control.paused.is_set():
            self.end()
        return self._profile is None

    def end(self) -> None:
        """Take the profile that is under way no further, and write down what was seen."""
        taken, self._profile = self._profile, None
        if taken is None:
            return
        self._ranges.end()
        taken.stop()
        self._session.time_part = None
        for owner, name in self._hooked:
            delattr(owner, name)
        steps = self._session.progress.step - self._first
        if steps > 0:
            self._write(self._record(taken, steps))

    def _begin(self) -> None:
        session, out_of_memory = self._session, self._out_of_memory
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # or it writes to the person's terminal
        gpu = [ProfilerActivity.CUDA] if session.device.type == "cuda" else []
        self._profile = profile(activities=[ProfilerActivity.CPU, *gpu])
        self._profile.start()
        self._first, self._began = session.progress.step, time.perf_counter()
        ranges = self._ranges = Ranges(session)
        run_step = out_of_memory.run_step

        def attempt(train_step: Any, window: MicroBatches, lr: float) -> Any:
            window.stream = ranges.iterate(window.stream)
            return run_step(train_step, window, lr)

        session.time_part = ranges.time_part
        hooks = (
            (out_of_memory, "run_step", ranges.time_part("step" if session.compiled else "backward", attempt)),
            (out_of_memory, "evaluate", ranges.time_part("validation", out_of_memory.evaluate)),
            (self._saver, "save", ranges.time_part("saving", self._saver.save)),
        )
        self._hooked = [(owner, name) for owner, name, _ in hooks]
        for owner, name, function in hooks:
            setattr(owner, name, function)

    def _record(self, taken: profile, steps: int) -> Profile:
        session, events = self._session, taken.key_averages()
        seconds = {
            event.key.removeprefix(_PREFIX): event.cpu_time_total / 1e6
            for event in events
            if event.key.startswith(_PREFIX) and event.device_type.name == "CPU"
        }
        seconds["wait"] = self._ranges.waited
        seconds["copy"] = seconds.get("copy", 0.0) - self._ranges.waited
        parts = {part: seconds[part] for part in PART_TITLES if seconds.get(part, 0.0) > 0.0}
        busy = None
        if session.device.type == "cuda":
            kernels = sum(
                event.self_device_time_total
                for event in events
                if event.device_type.name == "CUDA" and not event.is_user_annotation
            )
            busy = min(kernels / 1e6 / sum(parts.get(part, 0.0) for part in COMPUTING), 1.0)
        return Profile(
            last_step=session.progress.step,
            steps=steps,
            samples_per_second=steps * session.data.plan.n / session.data.steps_per_epoch / sum(parts.values()),
            device=describe_device(session.device),
            busy=busy,
            workers=session.data.report.batches.workers,
            cores=core_count(),
            cached=bool(session.data.source.supply),
            parts=parts,
            outside={part: seconds[part] for part in OUTSIDE_TITLES if part in seconds},
        )

    def _write(self, record: Profile) -> None:
        try:
            write_profile(self._writer.folder, record)
        except OSError as error:  # the run itself does not need it
            fault = storage_error(error, self._writer.folder.profile_file)
            title = f"The profile could not be written: {fault.message}"
            self._writer.emit(warn(title, step=record.last_step))
            return
        self._writer.emit(Profiled(step=record.last_step, steps=record.steps))
