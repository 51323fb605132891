"""The few numbers worth a large type."""

from __future__ import annotations

import numpy as np
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.state.formats import format_metric, format_number, format_rate, metric_title
from studio.state.progress import Progress
from studio.theme import SPACING
from studio.widgets import BigNumber, Card
from training.events import Event, Validated
from training.runs.series import Rows

_RECENT = 20  # steps: one batch's loss jumps too much to be read


class NumbersRow(Card):
    """Loss, best validation metric, learning rate, gradient norm, throughput."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.loss = BigNumber("Training loss")
        self.quality = BigNumber("Validation accuracy")
        self.rate = BigNumber("Learning rate")
        self.norm = BigNumber("Gradient norm")
        self.speed = BigNumber("Samples / s")
        self._losses: list[float] = []
        self._skipped: list[int] = []  # their steps
        self._best: Validated | None = None
        host = QWidget()
        grid = QGridLayout(host)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SPACING.m)
        for column, number in enumerate((self.loss, self.quality, self.rate, self.norm, self.speed)):
            grid.addWidget(number, 0, column)
            grid.setColumnMinimumWidth(column, 80)
            grid.setColumnStretch(column, 1)
        self.add(host)

    def clear(self) -> None:
        """Forget the run shown."""
        self._losses.clear()
        self._skipped.clear()
        self._best = None
        for number in (self.loss, self.quality, self.rate, self.norm, self.speed):
            number.set_value("–")
            number.set_delta("")

    def add_rows(self, rows: Rows) -> None:
        """New steps."""
        last = rows[-1]
        self._losses = (self._losses + [float(value) for value in rows["loss"][-_RECENT:]])[-_RECENT:]
        finite = [value for value in self._losses if np.isfinite(value)]
        self.loss.set_value(format_number(sum(finite) / len(finite)) if finite else "NaN")
        self.loss.set_delta(f"mean of {len(self._losses)} steps" if len(self._losses) > 1 else "of 1 step")
        self.rate.set_value(format_number(float(last["lr"]), 3))
        self.norm.set_value(format_number(float(last["grad_norm"]), 3))
        self._skipped += rows["step"][rows["skipped"] > 0].tolist()
        self._show_skipped()

    def truncate(self, step: int) -> None:
        """Steps after ``step`` are void."""
        self._losses.clear()
        self._skipped = [skipped for skipped in self._skipped if skipped <= step]
        self._show_skipped()
        if self._best is not None and self._best.step > step:
            self._best = None

    def add_event(self, event: Event, monitor: str) -> None:
        """A validation; ``monitor`` is the metric that decides which is best."""
        if not isinstance(event, Validated) or monitor not in event.metrics:
            return
        if event.improved or self._best is None:
            self._best = event
        value = float(event.metrics[monitor])
        self.quality.set_caption(metric_title(monitor).capitalize())
        self.quality.set_value(format_metric(monitor, value))
        if self._best is event:
            self.quality.set_delta("best so far", "success")
        else:
            best = format_metric(monitor, float(self._best.metrics[monitor]))
            self.quality.set_delta(f"best {best} at step {self._best.step:,}")

    def show_progress(self, progress: Progress) -> None:
        """Throughput."""
        if progress.samples_per_second:
            self.speed.set_value(format_rate(progress.samples_per_second))

    def _show_skipped(self) -> None:
        count = len(self._skipped)
        self.norm.set_delta(f"{count:,} step{'s' if count > 1 else ''} skipped" if count else "", "warning")
