"""Per-step numbers: kept on the device, fetched in groups, appended to the run's series."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil
import torch
from torch import Tensor

from training.engine.session import Session
from training.runs.folder import RunFolder
from training.runs.series import FLUSH_ROW, STEP_ROW, SeriesWriter


class Recorder:
    """Collects the numbers of each step and flushes them about ten times a second.

    Adding a step costs a list append; the device is asked once per flush. ``samples_per_second`` counts training time
    only: validation and saving are left out.
    """

    def __init__(self, session: Session, folder: RunFolder, on_flush: Callable[[np.void], None] | None = None) -> None:
        self._session = session
        self._on_flush = on_flush
        self._series = SeriesWriter(folder.series_file, STEP_ROW)
        self._telemetry = SeriesWriter(folder.telemetry_file, FLUSH_ROW)
        self._series.truncate(session.progress.step)  # what came after the checkpoint is done again
        self._process = psutil.Process()
        self._process.cpu_percent()
        self._pending: list[tuple[int, int, float, int]] = []
        self._losses: list[Tensor] = []
        self._norms: list[Tensor] = []
        self._trained_samples = 0
        self._trained_seconds = 0.0
        self._last_flush = time.perf_counter()
        self._flush_samples = 0

    @property
    def samples_per_second(self) -> float:
        """Training samples per second of training time in this attempt."""
        return self._trained_samples / self._trained_seconds if self._trained_seconds else 0.0

    def add(self, lr: float, samples: int, loss: Tensor, norm: Tensor) -> None:
        """Note the step that was just attempted with rate ``lr`` over ``samples`` samples."""
        progress = self._session.progress
        self._pending.append((progress.step, progress.epoch, lr, samples))
        self._losses.append(loss)
        self._norms.append(norm)
        self._flush_samples += samples

    def restart_clock(self) -> None:
        """Leave the time since the last flush (validation, saving, a pause) out of the throughput."""
        self._last_flush = time.perf_counter()
        self._session.data.waited = 0.0

    def flush(self) -> None:
        """Fetch what is pending, append it to the series, fold it into the session's progress."""
        if not self._pending:
            self.restart_clock()
            return
        fetched = torch.stack([torch.stack(self._losses), torch.stack(self._norms)]).float().cpu().numpy()
        rows = np.zeros(len(self._pending), STEP_ROW)
        columns = list(zip(*self._pending, strict=True))
        rows["step"], rows["epoch"], rows["lr"] = columns[0], columns[1], columns[2]
        rows["loss"], rows["grad_norm"] = fetched
        rows["skipped"] = ~np.isfinite(fetched[1])
        self._series.append(rows)
        self._fold(rows, columns[3])
        self._pending.clear()
        self._losses.clear()
        self._norms.clear()
        self._note_flush()

    def _fold(self, rows: np.ndarray[Any, np.dtype[np.void]], samples: tuple[int, ...]) -> None:
        progress = self._session.progress
        # One after the other in float64: the sum must not depend on how steps fell into flushes.
        for skipped, loss, count in zip(rows["skipped"].tolist(), rows["loss"].tolist(), samples, strict=True):
            progress.samples += count
            if skipped:
                progress.skipped += 1
                progress.skipped_in_a_row += 1
                continue
            progress.skipped_in_a_row = 0
            progress.loss_sum += loss * count
            progress.loss_samples += count

    def _note_flush(self) -> None:
        now = time.perf_counter()
        seconds = max(now - self._last_flush, 1e-9)
        self._trained_seconds += seconds
        self._trained_samples += self._flush_samples
        device = self._session.device
        row = np.zeros(1, FLUSH_ROW)
        row["time"] = time.time()
        row["step"] = self._session.progress.step
        row["samples_per_second"] = self._flush_samples / seconds
        row["wait_share"] = min(self._session.data.waited / seconds, 1.0)
        row["memory_mb"] = self._process.memory_info().rss / 2**20
        row["cpu_share"] = self._process.cpu_percent() / 100.0 / (psutil.cpu_count() or 1)
        row["gpu_memory_mb"] = torch.cuda.memory_reserved(device) / 2**20 if device.type == "cuda" else 0.0
        row["gpu_share"] = np.nan
        self._telemetry.append(row)
        self._flush_samples = 0
        self._last_flush = now
        self._session.data.waited = 0.0
        if self._on_flush is not None:
            self._on_flush(row[0])

    def sync(self) -> None:
        """Make the series survive a power cut; done before a checkpoint refers to it."""
        self._series.sync()

    def close(self) -> None:
        """Close both files."""
        self._series.close()
        self._telemetry.close()
