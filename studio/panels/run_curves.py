"""The curves of one run: rows and events go in, the board shows them with their markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.charts.metrics_board import MetricsBoard
from studio.panels.finding_marks import FindingMark, place_findings
from studio.services.settings import SettingsStore
from studio.state.formats import metric_title
from studio.state.runs.set_aside import Stretch
from studio.widgets import vbox
from training.config import RunConfig
from training.events import (
    AttemptStarted,
    Completed,
    Event,
    Failed,
    Finding,
    RateDropped,
    Rewound,
    Stopped,
    Validated,
)
from training.metric_names import is_share
from training.runs.records.gradients import clip_limit
from training.runs.records.manifest import BEST, CheckpointInfo
from training.runs.records.series import Rows

Floats = NDArray[np.float64]


class RunCurves(QWidget):
    """Loss, learning rate, gradient norm, and the validation metrics over the steps.

    Signals:
        checkpoint_clicked(str): the folder's name of a checkpoint whose marker was clicked.
        finding_clicked(str): what identifies the finding whose marker was clicked.
    """

    checkpoint_clicked, finding_clicked = Signal(str), Signal(str)

    def __init__(self, settings: SettingsStore) -> None:
        super().__init__()
        self._settings = settings
        self._attempts = 0
        self._found: dict[tuple[str, str], FindingMark] = {}  # by the keys of their markers
        self._validations: dict[str, list[tuple[float, float]]] = {}  # of each metric: steps and values
        self._shown = ""
        self._monitor = ""
        self._set_aside: tuple[Stretch, ...] = ()
        self._marks: set[tuple[str, str]] = set()  # what is marked, and the checkpoint's folder
        self.board = MetricsBoard()
        self.board.plot("metric").title_chosen.connect(self._on_metric_chosen)
        self.board.set_smoothing(settings.get().smoothing)
        self.board.set_log_scale(settings.get().log_scale)
        self.board.view_changed.connect(self._on_view_changed)
        self.board.marker_clicked.connect(self._on_marker_clicked)
        vbox(self.board, parent=self)

    def clear(self, empty_text: str = "Loading …") -> None:
        """Forget the run shown; ``empty_text`` stands there until `set_growing` or the next curves."""
        self._attempts = 0
        self._found = {}
        self.board.clear()
        self.board.set_empty_text(empty_text)
        self._validations.clear()
        self._set_aside = ()
        self._shown = ""
        self.board.plot("metric").set_titles({"": "Metric"}, "")

    def set_growing(self, on: bool) -> None:
        """All there is was read; ``on``: more is to come."""
        self.board.set_growing(on)
        self.board.set_empty_text("Appears with the first steps." if on else "No step of this run is on record.")
        metric = "Appears with the first validation." if on else "Nothing was validated."
        self.board.plot("metric").set_empty_text(metric)

    def show_config(self, config: RunConfig | None) -> None:
        """What the run's settings mean for the curves; None while they are not known."""
        self._monitor = config.monitor if config else ""
        self.board.gradients.set_limit(clip_limit(config.loop) if config else None)

    def add_rows(self, rows: Rows) -> None:
        """New steps."""
        steps = rows["step"].astype(np.float64)
        self.board.append("train/loss", steps, rows["loss"].astype(np.float64))
        self.board.append("lr", steps, rows["lr"])
        self.board.append("grad_norm", steps, rows["grad_norm"].astype(np.float64))

    def show_set_aside(self, stretches: Sequence[Stretch]) -> None:
        """Draw what was set aside behind the curves, faded."""
        if tuple(stretches) != self._set_aside:
            self._set_aside = tuple(stretches)
            self._draw_set_aside()

    def _draw_set_aside(self) -> None:
        others = [name for stretch in self._set_aside for event in stretch.validations for name in _judging(event)]
        metric = self._shown or (self._monitor if self._monitor in others else next(iter(others), ""))
        self.board.set_faded([_lines(stretch, metric) for stretch in self._set_aside])

    def mark_checkpoints(self, found: Sequence[CheckpointInfo]) -> None:
        """Mark these, which are all that there are."""
        marks = {("checkpoint", info.name): (info.step, "Checkpoint") for info in found}
        marks |= {(BEST, info.name): (info.step, "Best checkpoint") for info in found if BEST in info.labels}
        for key in self._marks - marks.keys():
            self.board.remove_marker(key)
        for (kind, name), (step, what) in marks.items():
            self.board.add_marker(
                "best" if kind == BEST else "checkpoint", step, f"{what}, step {step:,}", (kind, name)
            )
        self._marks = set(marks)

    def mark_findings(self, findings: Sequence[Finding]) -> None:
        """Mark these, which are all that there are, on the curves that they concern."""
        found = {("finding", mark.name): mark for mark in place_findings(findings)}
        for key in self._found.keys() - found.keys():
            self.board.remove_marker(key)
        for key, mark in found.items():
            if self._found.get(key) != mark:
                self.board.remove_marker(key)
                self.board.mark_finding(mark.chart, mark.kind, mark.step, mark.text, key, mark.until)
        self._found = found

    def truncate(self, step: int) -> None:
        """Steps after ``step`` are void."""
        self.board.truncate(step)
        self._found = {key: mark for key, mark in self._found.items() if mark.step <= step}
        for name, points in self._validations.items():
            self._validations[name] = [point for point in points if point[0] <= step]

    def add_event(self, event: Event) -> None:
        """Draw what an event means for the curves."""
        if isinstance(event, AttemptStarted):
            self._attempts += 1
            if self._attempts == 1:
                self.board.gradients.set_own_from(event.step)
            self.board.set_steps_per_epoch(event.steps_per_epoch or None)
            if event.step > 0:
                self.truncate(event.step)
                self.board.add_marker(
                    "resume", event.step, f"Resumed at step {event.step:,}", ("resume", self._attempts)
                )
        elif isinstance(event, Rewound):
            self.truncate(event.step)
        elif isinstance(event, Validated):
            self._add_validation(event)
        elif isinstance(event, RateDropped):
            metric = replace(event, metric=metric_title(event.metric))
            self.board.add_marker("drop", event.step, f"Step {event.step:,}: {metric.words}", ("drop", event.step))
        elif isinstance(event, Failed):
            self.board.add_marker("event", event.step, f"Failed: {event.reason}", ("end", 0))
        elif isinstance(event, Completed | Stopped):
            self.board.remove_marker(("end", 0))

    def _add_validation(self, event: Validated) -> None:
        step = float(event.step)
        if "val/loss" in event.metrics:
            self.board.append("val/loss", step, float(event.metrics["val/loss"]))
        names = _judging(event)
        for name in names:
            self._validations.setdefault(name, []).append((step, float(event.metrics[name])))
        if self._shown in names:
            self.board.append("val/metric", step, float(event.metrics[self._shown]))
        elif names and not self._shown:  # the first is the usual one of the task, where none of them decides
            self._show_metric(self._monitor if self._monitor in names else names[0])

    def _show_metric(self, name: str) -> None:
        self._shown = name
        titles = {each: metric_title(each).removeprefix("validation ") for each in self._validations}
        titles = {each: title[0].upper() + title[1:] for each, title in titles.items()}
        self.board.plot("metric").set_titles(titles, name, percent=is_share(name))
        points = np.array(self._validations[name], dtype=np.float64).reshape(-1, 2)
        self.board.set_curve("val/metric", points[:, 0], points[:, 1])
        self._draw_set_aside()

    @Slot(str)
    def _on_metric_chosen(self, name: str) -> None:
        if name in self._validations:
            self._show_metric(name)

    @Slot()
    def _on_view_changed(self) -> None:
        self._settings.update(smoothing=self.board.smoothing(), log_scale=self.board.log_scale())

    @Slot(object)
    def _on_marker_clicked(self, key: object) -> None:
        if isinstance(key, tuple) and key in self._marks:
            self.checkpoint_clicked.emit(str(key[1]))
        elif isinstance(key, tuple) and key in self._found:
            self.finding_clicked.emit(str(key[1]))


def _judging(event: Validated) -> list[str]:
    """What it measured besides the loss."""
    return [name for name in event.metrics if name.startswith("val/") and name != "val/loss"]


def _lines(stretch: Stretch, metric: str) -> dict[str, tuple[Floats, Floats]]:
    """The samples of each curve; ``metric`` is what the plot of metrics shows."""
    rows = stretch.rows
    steps = rows["step"].astype(np.float64)
    columns = {"train/loss": "loss", "lr": "lr", "grad_norm": "grad_norm"}
    lines = {name: (steps, rows[column].astype(np.float64)) for name, column in columns.items()}
    for name, measured in (("val/loss", "val/loss"), ("val/metric", metric)):
        points = [(event.step, event.metrics[measured]) for event in stretch.validations if measured in event.metrics]
        xs, ys = np.array(points, dtype=np.float64).reshape(-1, 2).T
        lines[name] = xs, ys
    return lines
