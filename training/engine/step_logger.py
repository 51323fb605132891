"""Per-step numbers: kept on the device, fetched in groups, appended to the run's series."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import psutil
import torch
from torch import Tensor

from training.engine.recovery.nonfinite import NonFiniteLog
from training.engine.recovery.replay import Skip
from training.engine.session import Session
from training.engine.slow_counters import SlowCounters
from training.engine.watches.column_log import ColumnLog
from training.errors import TrainingError
from training.runs.folder import RunFolder
from training.runs.pyramid.kept import STEP_CURVES, PyramidWriter
from training.runs.records.history import read_history
from training.runs.records.series import FLUSH_ROW, STEP_ROW, Rows, SeriesWriter
from training.runs.records.telemetry import TelemetryWriter
from training.runs.storage import explain_disk_errors

logger = logging.getLogger(__name__)

ROW_SECONDS = 0.05
"""Between two rows of telemetry at the least: short epochs flush more often, and asking the system takes 0.1 ms."""


class StepLogger:
    """Collects the numbers of each step and flushes them about ten times a second.

    Adding a step costs a list append; the device is asked once per flush. ``samples_per_second`` counts training time
    only: validation and saving are left out.
    """

    def __init__(
        self,
        session: Session,
        folder: RunFolder,
        skips: NonFiniteLog,
        on_flush: Callable[[Rows, Rows], None] | None = None,
        on_written: Callable[[int], None] = lambda step: None,
    ) -> None:
        """``on_flush`` hears of each row of telemetry, ``on_written`` of the step up to which all is written and told."""
        self._session = session
        self._folder = folder
        self._skips = skips
        self._on_flush = on_flush
        self._on_written = on_written
        self._logs: list[ColumnLog] = []
        with ExitStack() as on_error:  # on a full disk some of these files can be opened and others cannot
            self._series = SeriesWriter(folder.series_file, STEP_ROW)
            on_error.callback(self._series.close)
            self._telemetry = TelemetryWriter(
                folder.telemetry_file, lambda: [each.time for each in read_history(folder.events_file).attempts]
            )
            on_error.callback(self._telemetry.close)
            self._series.truncate(session.progress.step)  # what came after the checkpoint is done again
            self._pyramid = PyramidWriter(self._series, len(STEP_CURVES))
            on_error.callback(self._pyramid.close)
            for watch in session.watches:
                self._logs.append(ColumnLog(watch, folder.path, session.progress.step))
                on_error.callback(self._logs[-1].close)
            on_error.pop_all()
        if session.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(session.device)  # else that of the run before, in the same process
        self._process = psutil.Process()
        self._process.cpu_percent()
        self._counters = SlowCounters(session.device, self._process)
        self._on_cpu = session.device.type == "cpu"
        self._pending: list[tuple[int, int, float, int, int, Tensor, Tensor | float]] = []
        self._trained_samples = 0
        self._trained_seconds = 0.0
        self._last_flush = time.perf_counter()
        self._flush_samples = 0
        self._row_samples = 0
        self._row_seconds = self._row_waited = self._row_waited_for_ranks = 0.0
        self._row_due = 0.0
        self._newest = np.zeros(0, STEP_ROW)  # row of the series

    @property
    def samples_per_second(self) -> float:
        """Training samples per second of training time in this attempt."""
        return self._trained_samples / self._trained_seconds if self._trained_seconds else 0.0

    def add(self, lr: float, samples: int, loss: Tensor, norm: Tensor) -> None:
        """Note the step that was just attempted with rate ``lr`` over ``samples`` samples. One that was skipped is flushed at once where
        no device has to be waited for: its weights and random numbers are still at hand then. Raises as ``flush`` does."""
        progress = self._session.progress
        number = norm.item() if self._on_cpu else norm
        self._pending.append((progress.step, progress.epoch, lr, samples, progress.window, loss, number))
        self._flush_samples += samples
        if progress.step not in self._session.unwatched:
            for log in self._logs:
                log.add(progress.step)
        if self._on_cpu and not math.isfinite(number):
            self.flush()

    def restart_clock(self) -> None:
        """Leave the time since the last flush (validation, saving, a pause) out of the throughput."""
        self._last_flush = time.perf_counter()
        self._session.data.waited = self._session.ranks.waited = 0.0

    def flush(self) -> None:
        """Fetch what is pending, append it to the series, fold it into the session's progress, tell of skipped steps.

        Raises TooManySkips where a row of them is too long: at the very step that made it so, however many were pending
        behind it. Those never count. Whatever is saved or measured is preceded by a flush, so nothing rests on them.
        """
        if not self._pending:
            self.restart_clock()
            return
        rows, samples, windows = self._fetch()
        skips = self._fold(rows, samples, windows)
        with explain_disk_errors(self._folder.series_file):
            self._series.append(rows[rows["step"] <= self._session.progress.step])
        self._pyramid.grow()
        self._newest = rows[-1:]
        for log in self._logs:
            log.flush(self._session.progress.step)
        self._note_time()
        if self._last_flush >= self._row_due:
            self._look_at_the_engine()
        for skip in skips:
            self._skips.note(skip)
        self._on_written(self._session.progress.step)
        if skips:
            self._last_flush = time.perf_counter()  # looking for a cause is no training time
            self._skips.refuse()
        self._skips.remember()

    def flush_all(self) -> None:
        """``flush``, and a row of telemetry however young the last one is: nothing comes for a while, or for good."""
        self.flush()
        if self._row_seconds:
            self._look_at_the_engine()

    def discard(self) -> None:
        """Drop what is not written yet."""
        self._pending.clear()
        for log in self._logs:
            log.discard()
        self._row_samples = self._flush_samples = 0
        self._row_seconds = self._row_waited = self._row_waited_for_ranks = 0.0

    def _fetch(self) -> tuple[Rows, tuple[int, ...], tuple[int, ...]]:
        """Take what is pending: its rows, and samples and window of each."""
        steps, epochs, rates, samples, windows, losses, norms = zip(*self._pending, strict=True)
        rows = np.zeros(len(steps), STEP_ROW)
        rows["step"], rows["epoch"], rows["lr"] = steps, epochs, rates
        rows["loss"], rows["grad_norm"] = _fetch_numbers(losses, norms)
        rows["skipped"] = ~np.isfinite(rows["grad_norm"])
        self._pending.clear()
        return rows, samples, windows

    def rewind(self) -> None:
        """Drop whatever lies behind the session's present step."""
        self.discard()
        self._series.truncate(self._session.progress.step)
        self._pyramid.cut()
        for log in self._logs:
            log.rewind(self._session.progress.step)
        self.restart_clock()

    def _fold(self, rows: Rows, samples: tuple[int, ...], windows: tuple[int, ...]) -> list[Skip]:
        """Count ``rows`` one by one, up to the one that makes too many skips in a row; returns the skips."""
        progress, limit = self._session.progress, self._session.config.loop.max_skipped_steps
        skips: list[Skip] = []
        # One after the other in float64: the sum must not depend on how steps fell into flushes.
        for index, (skipped, loss) in enumerate(zip(rows["skipped"].tolist(), rows["loss"].tolist(), strict=True)):
            count = samples[index]
            if not skipped:
                progress.count_loss(loss, count)
                continue
            progress.count_skip(count)
            step, epoch = int(rows["step"][index]), int(rows["epoch"][index])
            later = rows["skipped"][index + 1 :]
            moved = len(later) - int(later.sum())
            skips.append(Skip(step, epoch, windows[index] - 1, progress.skipped_in_a_row, loss, len(later), moved))
            if progress.skipped_in_a_row >= limit:
                progress.step_back(step, epoch, windows[index])
                break
        return skips

    def _note_time(self) -> None:
        now = time.perf_counter()
        seconds = max(now - self._last_flush, 1e-9)
        self._trained_seconds += seconds
        self._trained_samples += self._flush_samples
        self._row_seconds += seconds
        self._row_samples += self._flush_samples
        self._row_waited += self._session.data.waited
        self._row_waited_for_ranks += self._session.ranks.waited
        self._flush_samples = 0
        self._last_flush = now
        self._session.data.waited = self._session.ranks.waited = 0.0

    def _look_at_the_engine(self) -> None:
        row = self._write_row()
        self._row_due = self._last_flush + ROW_SECONDS
        if self._on_flush is not None:
            self._on_flush(row, self._newest)

    def _write_row(self) -> Rows:
        seconds, device = self._row_seconds, self._session.device
        row = np.zeros(1, FLUSH_ROW)
        row["time"] = time.time()
        row["step"] = self._session.progress.step
        row["samples_per_second"] = self._row_samples / seconds
        row["wait_share"] = min(self._row_waited / seconds, 1.0)
        row["ranks_wait_share"] = min(self._row_waited_for_ranks / seconds, 1.0)
        row["memory_mb"] = self._process.memory_info().rss / 2**20
        row["cpu_share"] = self._process.cpu_percent() / 100.0 / (psutil.cpu_count() or 1)
        row["gpu_share"], row["written_mb"], row["gpu_throttled"] = self._counters.read()
        if device.type == "cuda":
            row["gpu_memory_mb"] = torch.cuda.memory_reserved(device) / 2**20
            row["gpu_allocated_mb"] = torch.cuda.memory_allocated(device) / 2**20
            row["gpu_peak_mb"] = torch.cuda.max_memory_allocated(device) / 2**20
        with explain_disk_errors(self._folder.telemetry_file):
            self._telemetry.append(row)
        self._row_samples = 0
        self._row_seconds = self._row_waited = self._row_waited_for_ranks = 0.0
        return row

    def sync(self) -> None:
        """Make what is written of the steps survive a power cut; done before a checkpoint refers to it."""
        self._series.sync()
        for log in self._logs:
            log.sync()

    def write_rest(self) -> None:
        """Write what a run that failed had done last; nothing where all is written."""
        try:
            if self._pending:
                rows, _, _ = self._fetch()
                with explain_disk_errors(self._folder.series_file):
                    self._series.append(rows)
                for log in self._logs:
                    log.flush(int(rows["step"][-1]))
                self._note_time()
            if self._row_seconds:
                self._write_row()
        except (TrainingError, RuntimeError) as error:  # a disk or a GPU that fails, which is why the run ends
            logger.warning("The last steps could not be written down: %s", error)

    def close(self) -> None:
        """Close all files."""
        for log in self._logs:
            log.close()
        self._pyramid.close()
        self._series.close()
        self._telemetry.close()


def _fetch_numbers(losses: Sequence[Tensor], norms: Sequence[Tensor | float]) -> tuple[Any, Any]:
    """Their numbers. A device is asked once; on the CPU, asking each takes a fifth of what stacking them does."""
    if isinstance(norms[0], float):
        return [loss.item() for loss in losses], norms
    stacked = (
        torch.stack([torch.stack(list(losses)), torch.stack([torch.as_tensor(norm) for norm in norms])])
        .float()
        .cpu()
        .numpy()
    )
    return stacked[0], stacked[1]
