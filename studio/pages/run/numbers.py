"""The few numbers worth a large type."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.charts.ticks import reading
from studio.state.formats import format_metric, format_number, format_rate, metric_title
from studio.theme import SPACING
from studio.widgets import BigNumber, Card
from training.events import Event, Validated
from training.runs.records.progress import Progress
from training.runs.records.series import Rows

_RECENT = 20  # steps: one batch's loss jumps too much to be read


class NumbersRow(Card):
    """Loss, best validation metric, learning rate, gradient norm, throughput."""

    def __init__(self) -> None:
        super().__init__()
        self.loss = BigNumber("Training loss, batches")
        self.quality = BigNumber("Validation")
        self.rate = BigNumber("Learning rate")
        self.norm = BigNumber("Gradient norm")
        self.speed = BigNumber("Samples / s")
        self._losses: list[float] = []
        self._skipped: list[int] = []  # their steps
        self._newest: Any = None  # row
        self._validated: list[Validated] = []
        self._monitor = ""
        self._has_best = self._live = True
        host = QWidget()
        grid = QGridLayout(host)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SPACING.m)
        for column, number in enumerate((self.loss, self.quality, self.rate, self.norm, self.speed)):
            grid.addWidget(number, 0, column)
            grid.setColumnMinimumWidth(column, 80)
            grid.setColumnStretch(column, 1)
            number.reserve_lines(1)
        self.add(host)

    def clear(self) -> None:
        """Forget the run shown."""
        self._losses.clear()
        self._skipped.clear()
        self._validated.clear()
        self._newest = None
        self._monitor = ""
        for number in (self.loss, self.quality, self.rate, self.norm, self.speed):
            number.set_value("–")
            number.set_delta("")
        self.quality.set_caption("Validation")

    def name_quality(self, monitor: str) -> None:
        """Say from the start which metric of validation decides, before there is one."""
        title = metric_title(monitor)
        self.quality.set_caption(title[0].upper() + title[1:])

    def add_rows(self, rows: Rows) -> None:
        """New steps, shown by ``refresh``."""
        self._newest = rows[-1]
        self._losses = (self._losses + [float(value) for value in rows["loss"][-_RECENT:]])[-_RECENT:]
        self._skipped += rows["step"][rows["skipped"] > 0].tolist()

    def truncate(self, step: int) -> None:
        """Steps after ``step`` are void."""
        self._losses.clear()
        self._skipped = [skipped for skipped in self._skipped if skipped <= step]
        self._validated = [event for event in self._validated if event.step <= step]

    def add_event(self, event: Event, monitor: str) -> None:
        """A validation, shown by ``refresh``; ``monitor`` is the metric that decides which is best."""
        if isinstance(event, Validated) and monitor in event.metrics:
            self._validated.append(event)
            self._monitor = monitor

    def refresh(self) -> None:
        """Show what was added: once for all of a look, or a run that validates a hundred times a second would have a
        hundred figures written over each other."""
        if self._newest is not None:
            for number, name in ((self.rate, "lr"), (self.norm, "grad_norm")):
                value = float(self._newest[name])  # told as beside its curve, which has gaps where this says ∞ or NaN
                number.set_value(reading(value) if np.isfinite(value) else format_number(value))
        if self._losses:
            finite = [value for value in self._losses if np.isfinite(value)]
            self.loss.set_value(format_number(sum(finite) / len(finite)) if finite else "NaN")
            last = f"last {reading(self._losses[-1])}"  # as beside its curve
            self.loss.set_delta(f"{len(self._losses)}-step average, {last}" if len(self._losses) > 1 else "of 1 step")
        if self._monitor:
            self._show_quality()
        count = len(self._skipped)
        self.norm.set_delta(f"{count:,} step{'s' if count > 1 else ''} skipped" if count else "", "warning")

    def show_progress(self, progress: Progress) -> None:
        """Throughput."""
        if progress.samples_per_second:
            self.speed.set_value(format_rate(progress.samples_per_second))

    def show_best(self, there: bool, live: bool) -> None:
        """Whether the checkpoint of the best validation is there (one that went, or is still to come, is not named), and
        whether a better one may follow."""
        self._has_best, self._live = there, live
        self.refresh()

    def _show_quality(self) -> None:
        self.name_quality(self._monitor)
        if not self._validated:  # what there was is void
            self.quality.set_value("–")
            self.quality.set_delta("")
            return
        newest = self._validated[-1]
        best = next((event for event in reversed(self._validated) if event.improved), self._validated[0])
        value, highest = (format_metric(self._monitor, float(event.metrics[self._monitor])) for event in (newest, best))
        self.quality.set_value(value)
        early = self._early_stopping()
        if not self._has_best:
            self.quality.set_delta(f"at step {newest.step:,}{early}")
        elif best is newest:
            self.quality.set_delta(f"new best{early}" if self._live else "best of the run", "success")
        else:
            self.quality.set_delta(f"best {highest} at step {best.step:,}{early}")

    def _early_stopping(self) -> str:
        """Its counter, of the newest validation that counts; "" while that stands at 0, and once the run has ended."""
        counted = next((event for event in reversed(self._validated) if event.stale is not None), None)
        return f", early stopping {counted.stale_words}" if self._live and counted and counted.stale else ""
