"""One run looked at: its head, its curves, its checkpoints, its settings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from pydantic import JsonValue
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.actions.files import reveal
from studio.actions.runs import delete_run
from studio.engine.state import LIVE, STATUS_STATES, RunState
from studio.panels.charts.chart_menu import ChartMenu
from studio.panels.checkpoints.checkpoint_panel import CheckpointPanel
from studio.panels.columns import TwoColumns
from studio.panels.config_view import ConfigView
from studio.panels.deliveries import DeliveryLines
from studio.panels.fix_dialog import apply_fix
from studio.panels.outcome_banner import OutcomeBanner
from studio.panels.profile_view import ProfileView
from studio.panels.records.boundary_card import BoundaryCard
from studio.panels.records.evaluation_card import EvaluationCard
from studio.panels.records.layers_card import LayersCard
from studio.panels.records.parts_card import PartsCard
from studio.panels.run_curves import RunCurves
from studio.panels.run_words import status_words
from studio.state.context import AppContext
from studio.state.formats import format_metric, metric_title
from studio.state.runs.run_library import RunSummary
from studio.state.runs.run_reading import RunReader, RunReading
from studio.state.runs.way_on import way_on
from studio.theme import SPACING, set_role
from studio.widgets import (
    STRETCH,
    Card,
    ElidedLabel,
    StatusPill,
    button,
    hbox,
    icon_button,
    in_widget,
    label,
    vbox,
)
from training.catalog.summary import summarize
from training.config import RunConfig
from training.data_report import DataReport
from training.errors import TrainingError, format_bytes, format_duration
from training.events import AttemptStarted, DataPrepared, Event, Failed, Stopped
from training.runs.folder import AT_WORK
from training.runs.records.forms import StatusRecord
from training.runs.records.progress import best_of
from training.runs.step_profile import Profile, read_profile

logger = logging.getLogger(__name__)

_HIGHEST_CHARTS = 520
_LIST = 226  # four checkpoints; its buttons stay beside the charts, however long the page


class RunDetail(QWidget):
    """Shows one RunSummary.

    Signals:
        closed(): the person wants the table alone again.
    """

    closed = Signal()

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._run: RunSummary | None = None
        self._reader: RunReader | None = None
        self._report: DataReport | None = None  # what the run told of its data
        self._parameters = 0
        self._name = ElidedLabel("", Qt.TextElideMode.ElideRight)
        set_role(self._name, "title")
        self._pill = StatusPill()
        self._what = ElidedLabel("", Qt.TextElideMode.ElideRight)
        set_role(self._what, "help")
        self._facts = label("", "help", wrap=True)
        self.deliveries = DeliveryLines(context)
        self.watch = button("Watch", "eye", tooltip="Show this run on the Run page")
        self.open = icon_button("folder", "Open the run's folder")
        self.delete = icon_button("trash", "Move this run to the trash")
        self.close_button = icon_button("cross", "Close", clicked=self.closed)
        self.outcome = OutcomeBanner()
        self.curves = RunCurves(context.settings)
        for plot in self.curves.board.plots():
            ChartMenu(plot, context, lambda: self._run.folder if self._run else None)
        self.checkpoints = CheckpointPanel(context)
        self.config = ConfigView()
        self.boundary = BoundaryCard(context)
        self.evaluation = EvaluationCard(context.background)
        self.parts = PartsCard(context)
        self.layers = LayersCard(context.background)
        self.profile = Card("Profiler", "gauge")
        self._profile_view = ProfileView()
        self.profile.add(self._profile_view)
        self.profile.hide()
        self._lay_out()
        self._connect()

    def show_run(self, run: RunSummary) -> None:
        """Look at ``run``; the same run again only takes up what changed."""
        another = self._run is None or self._run.id != run.id
        changed = another or self._run != run
        self._run = run
        state = STATUS_STATES.get(run.status, RunState.STOPPED)
        self._name.setText(self._context.library.title_of(run))
        self._pill.set_status(*status_words(run.status))
        self._facts.setText(_facts(run))
        record = run.record
        proposed_for = _config_of(run) if record.fix else None
        self.outcome.show_outcome(state, _final(record, state), config=proposed_for, way=way_on(run.folder))
        done_at = record.step if state is RunState.COMPLETED else None
        self.checkpoints.set_run(run.folder, state, done_at)
        self.deliveries.set_run(run.folder)
        if another:
            self.curves.clear()
            self.config.show_run(run.folder)
            self._report, self._parameters = None, 0
            self._show_what(run)
            self.profile.hide()
        if another or self._reader is None:
            self._reader = RunReader(run.folder)
        if changed:
            self._context.background.submit(self._reader.read, self._on_read, self._on_unreadable)
            self.boundary.set_run(run.folder)
            self.evaluation.set_run(run.folder)
            self.parts.set_run(run.folder, state in LIVE)
            self.layers.set_run(run.folder, _config_of(run), state in LIVE)
            self._read_profile(run)
        self._update_buttons()

    def run(self) -> RunSummary | None:
        """The run looked at."""
        return self._run

    def _lay_out(self) -> None:
        ways = self.checkpoints.resume, self.watch, self.open, self.delete, self.close_button
        title = hbox((self._name, 1), self._pill, *ways)
        head = Card()
        head.add(title, self._what, self._facts, self.deliveries)
        charts = Card()
        charts.add((self.curves, 1))
        charts.setMinimumHeight(400)
        charts.setMaximumHeight(_HIGHEST_CHARTS)  # the rest of a tall window is for what lies below
        self.checkpoints.set_list_height(_LIST)
        side = in_widget(vbox(self.checkpoints, STRETCH))
        columns = TwoColumns(charts, side)
        # Figures of the classes need the whole width: a table, and the matrix beside it.
        below = (self.config, self.parts, self.boundary, self.evaluation, self.layers, self.profile)
        vbox(head, self.outcome, columns, *below, STRETCH, parent=self, spacing=SPACING.m)

    def _connect(self) -> None:
        self.watch.clicked.connect(self._with_run(lambda run: self._context.open_run(run.folder.path)))
        self.open.clicked.connect(self._with_run(lambda run: reveal(run.folder.path)))
        self.delete.clicked.connect(self._with_run(lambda run: delete_run(self._context, run.folder)))
        self.outcome.apply_asked.connect(self._apply)
        self.outcome.delete_asked.connect(self.delete.click)
        self._profile_view.apply_asked.connect(self._apply)
        self.curves.checkpoint_clicked.connect(self.checkpoints.choose)
        self.checkpoints.set_aside.shown.connect(self._show_set_aside)
        self.checkpoints.model.refreshed.connect(self._mark_checkpoints)

    def _with_run(self, act: Callable[[RunSummary], object]) -> Callable[[], None]:
        def call() -> None:
            if self._run is not None:
                act(self._run)

        return call

    @Slot(object)
    def _apply(self, fix: Mapping[str, JsonValue]) -> None:
        if self._run is not None:
            apply_fix(self._context, self, fix, self._run.folder, _config_of(self._run))

    def _update_buttons(self) -> None:
        if self._run is None:
            return
        working = self._run.status in AT_WORK
        self.watch.setVisible(working)
        self.watch.setEnabled(not self._context.engine.training)
        self.delete.setEnabled(not working)

    def _on_read(self, reading: RunReading) -> None:
        if self._run is None or reading.folder != self._run.folder:
            return
        if reading.anew:
            self.curves.clear()
            self._report = None
            self._parameters = 0
        for event in reading.events:
            self.curves.add_event(event)
            if isinstance(event, DataPrepared):
                self._report = event.report
            elif isinstance(event, AttemptStarted):
                self._parameters = event.parameters
        self._show_what(self._run)
        if len(reading.rows):
            self.curves.add_rows(reading.rows)
        self._show_set_aside()
        self._mark_checkpoints()
        self.curves.set_growing(STATUS_STATES.get(self._run.status, RunState.STOPPED) in LIVE)
        if reading.anew:
            self.curves.board.refresh()

    def _show_what(self, run: RunSummary) -> None:
        config = _config_of(run)
        self.curves.show_config(config)
        kinds = run.dataset_title, run.model_title
        self._what.setText(summarize(config, self._report, self._parameters) if config else " · ".join(kinds))

    @Slot()
    def _mark_checkpoints(self) -> None:
        self.curves.mark_checkpoints(self.checkpoints.model.checkpoints)

    @Slot()
    def _show_set_aside(self) -> None:
        self.curves.show_set_aside(self.checkpoints.set_aside.stretches)

    def _read_profile(self, run: RunSummary) -> None:
        def handle_result(profile: Profile | None) -> None:
            if self._run is not None and self._run.folder == run.folder:
                if profile is not None:
                    self._profile_view.show_profile(profile, _config_of(run))
                self.profile.setVisible(profile is not None)

        def handle_failure(error: Exception) -> None:
            logger.warning("A profile could not be read: %s", error)

        self._context.background.submit(lambda: read_profile(run.folder), handle_result, handle_failure)

    def _on_unreadable(self, error: Exception) -> None:
        logger.warning("A run could not be read: %s", error)
        self.curves.clear(f"The curves cannot be read: {error}")


def _final(record: StatusRecord, state: RunState) -> Event:
    """The run's last event, as its record tells it."""
    step, reason = record.step, record.reason or ""
    if state is RunState.STOPPED:
        return Stopped(step=step, reason=reason)
    return Failed(step=step, reason=reason, advice=record.advice or "", fix=record.fix)


def _config_of(run: RunSummary) -> RunConfig | None:
    try:
        return run.folder.config()
    except TrainingError as error:
        logger.warning("The settings of a run cannot be read: %s", error)
        return None


def _facts(run: RunSummary) -> str:
    record, parts = run.record, []
    best = best_of(record)
    if best is not None:
        parts.append(f"best {metric_title(best[0])} {format_metric(*best)}")
    step, total = record.step, record.total_steps
    parts.append(f"step {step:,} of {total:,}" if total else f"step {step:,}")
    parts.append(format_duration(run.duration))
    if run.size is not None:
        parts.append(format_bytes(run.size))
    if run.parent:
        parts.append(f"branched from {run.parent}")
    return " · ".join(parts)
