"""The curves of the run, the few numbers worth a large type, and below them what else was recorded of its steps."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.engine.state import LIVE, RunState
from studio.pages.run.first_screen import FirstScreen
from studio.pages.run.numbers import NumbersRow
from studio.pages.run.step_records import StepRecords
from studio.panels.charts.chart_menu import ChartMenu
from studio.panels.checkpoints.checkpoint_panel import CheckpointPanel
from studio.panels.records.boundary_card import BoundaryCard
from studio.panels.records.evaluation_card import EvaluationCard
from studio.panels.records.texts_card import TextsCard
from studio.panels.run_curves import RunCurves
from studio.state.context import AppContext
from studio.state.runs.live_run import LiveRun
from studio.state.runs.run_findings import RunFindings
from studio.theme import SPACING
from studio.widgets import Card, in_widget, vbox
from training.events import FINAL_EVENTS, AttemptStarted, Event, Validated
from training.runs.records.progress import Progress
from training.runs.records.series import Rows

_LEAST_CHARTS = 350  # pixels


class ChartsTab(QWidget):
    """Follows ``context.shown``; marks what ``checkpoints`` lists and what is among ``findings``, and draws what it says was set aside."""

    def __init__(self, context: AppContext, checkpoints: CheckpointPanel, findings: RunFindings) -> None:
        super().__init__()
        self._context = context
        self._checkpoints, self._findings = checkpoints, findings
        self.numbers = NumbersRow()
        self.curves = RunCurves(context.settings)
        for plot in self.curves.board.plots():
            ChartMenu(plot, context, lambda: self._run.folder)
        self.boundary = BoundaryCard(context)
        self.evaluation = EvaluationCard(context.background)
        self.records = StepRecords(context, self)
        self._lay_out()
        self._connect()
        self._show_run()

    @property
    def _run(self) -> LiveRun:
        return self._context.shown.run

    def _lay_out(self) -> None:
        charts = Card()
        charts.add((self.curves, 1))
        charts.setMinimumHeight(_LEAST_CHARTS)
        charts.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        screen = in_widget(vbox(self.numbers, (charts, 1), spacing=SPACING.m))
        parts, layers = self.records.parts, self.records.layers
        self.area = FirstScreen(screen, TextsCard(self._context), parts, self.boundary, self.evaluation, layers)
        vbox(self.area, parent=self)

    def _connect(self) -> None:
        shown = self._context.shown
        shown.attached.connect(self._show_run)
        shown.state_changed.connect(self._on_state_changed)
        shown.progress_changed.connect(self._on_progress_changed)
        shown.rows_arrived.connect(self._on_rows)
        shown.truncated.connect(self._on_truncated)
        shown.event_arrived.connect(self._on_event)
        shown.looked.connect(self.numbers.refresh)
        self._checkpoints.list.refreshed.connect(self._show_checkpoints)
        self._checkpoints.set_aside.shown.connect(self._show_set_aside)
        self._findings.changed.connect(self._mark_findings)

    @Slot()
    def _show_run(self) -> None:
        run = self._run
        self.curves.clear()
        self.numbers.clear()
        self._name_quality()
        self.curves.set_growing(run.state in LIVE)
        self._show_checkpoints()
        self._show_set_aside()
        self.boundary.set_run(run.folder)
        self.evaluation.set_run(run.folder)
        self.records.show_run()

    def _name_quality(self) -> None:
        config = self._run.config()
        self.curves.show_config(config)
        if config is not None:
            self.numbers.name_quality(config.monitor)
            self.numbers.quality.reserve_lines(2 if config.loop.early_stopping_patience else 1)  # its counter may wrap

    @Slot(object)
    def _on_state_changed(self, state: RunState) -> None:
        self.curves.set_growing(state in LIVE)
        self._show_checkpoints()

    @Slot(object)
    def _on_progress_changed(self, progress: Progress) -> None:
        self.numbers.show_progress(progress)

    @Slot(object)
    def _on_rows(self, rows: Rows) -> None:
        self.curves.add_rows(rows)
        self.numbers.add_rows(rows)

    @Slot(int)
    def _on_truncated(self, step: int) -> None:
        self.curves.truncate(step)
        self.numbers.truncate(step)

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        self.curves.add_event(event)
        config = self._run.config()
        self.numbers.add_event(event, config.monitor if config else "val/accuracy")
        if isinstance(event, AttemptStarted):
            self._name_quality()
            self.numbers.truncate(event.step)
        if isinstance(event, (Validated, AttemptStarted, *FINAL_EVENTS)):
            self.evaluation.refresh()
            self.boundary.refresh()

    @Slot()
    def _show_set_aside(self) -> None:
        self.curves.show_set_aside(self._checkpoints.set_aside.stretches)

    @Slot()
    def _mark_findings(self) -> None:
        self.curves.mark_findings([*self._findings.list_cleared(), *self._findings.list_standing()])

    @Slot()
    def _show_checkpoints(self) -> None:
        found = self._checkpoints.list
        self.curves.mark_checkpoints(found.checkpoints)
        self.numbers.show_best(not found.why_no_best or not found.checkpoints, self._run.state in LIVE)
