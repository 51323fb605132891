"""The Run page: one run, live."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue
from PySide6.QtCore import QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QStackedLayout, QWidget

from studio.actions.runs import delete_run
from studio.engine.state import LIVE, RunState
from studio.pages.run.findings import FindingList
from studio.pages.run.first_screen import FirstScreen
from studio.pages.run.header import RunHeader
from studio.pages.run.numbers import NumbersRow
from studio.pages.run.profile_card import ProfileCard
from studio.pages.run.step_records import StepRecords
from studio.pages.run.system import SystemStrip
from studio.panels.charts.chart_menu import ChartMenu
from studio.panels.checkpoints.checkpoint_panel import CheckpointPanel
from studio.panels.columns import TwoColumns
from studio.panels.deliveries import DeliveryLines
from studio.panels.fix_dialog import apply_fix
from studio.panels.outcome_banner import OutcomeBanner
from studio.panels.records.boundary_card import BoundaryCard
from studio.panels.records.evaluation_card import EvaluationCard
from studio.panels.records.texts_card import TextsCard
from studio.panels.run_curves import RunCurves
from studio.panels.run_words import UNLISTED
from studio.panels.settings_dialog import show_settings
from studio.state.context import AppContext
from studio.state.runs.way_on import way_on
from studio.theme import SPACING
from studio.widgets import Card, EmptyState, in_widget, vbox
from training.control import Command
from training.events import (
    FINAL_EVENTS,
    AttemptStarted,
    CheckpointSaved,
    DataPrepared,
    Event,
    Found,
    PhaseChanged,
    Validated,
)
from training.runs.records.progress import Progress
from training.runs.records.series import Rows

_LOOK_AGAIN = 5000  # milliseconds between two looks for runs that others train, while there is nothing to watch
_LOOKING = ("Looking for running training …", "The runs of this workspace are being read.")
_NOTHING = (
    "Nothing is being trained",
    "Set up a run of your own, or start the built-in sample: drawn shapes and a small network, done in under a minute.",
)
_SAMPLE = ("Start the built-in sample", "play")


class RunPage(QWidget):
    """Shows ``context.live``."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._live = context.live
        self.checkpoints = CheckpointPanel(context)
        self.deliveries = DeliveryLines(context)
        self.header = RunHeader(self.checkpoints.resume, self.deliveries)
        self.numbers = NumbersRow()
        self.outcome = OutcomeBanner()
        self.findings = FindingList()
        self.curves = RunCurves(context.settings)
        for plot in self.curves.board.plots():
            ChartMenu(plot, context, lambda: self._live.folder)
        self.boundary = BoundaryCard(context)
        self.evaluation = EvaluationCard(context.background)
        self.records = StepRecords(context, self)
        self.profile = ProfileCard(context)
        self.system = SystemStrip(context.live)
        self.empty = EmptyState("train", *_LOOKING)
        self.empty.setAccessibleDescription("Start page of training")
        self._found: Path | None = None  # the run that is shown because there was nothing else to show
        self._look_again = QTimer(self, interval=_LOOK_AGAIN)
        self._lay_out()
        self._connect()
        self._show_run()
        self._live.replay()  # this page may be younger than the run

    def _lay_out(self) -> None:
        charts = Card()
        charts.add((self.curves, 1))
        for box, least in ((charts, 350), (self.checkpoints.view, 150)):  # all of a run is seen in 1280 x 800 pixels
            box.setMinimumHeight(least)
            box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        above = (self.header, self.outcome, self.findings, self.numbers, (TwoColumns(charts, self.checkpoints), 1))
        screen = in_widget(vbox(*above, self.profile, self.system, spacing=SPACING.m))
        parts, layers = self.records.parts, self.records.layers
        self._content = FirstScreen(screen, TextsCard(self._context), parts, self.boundary, self.evaluation, layers)
        self._content.setAccessibleName("Training run")
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._content)

    def _connect(self) -> None:
        live, context = self._live, self._context
        live.attached.connect(self._show_run)
        live.state_changed.connect(self._on_state_changed)
        live.progress_changed.connect(self._on_progress_changed)
        live.rows_arrived.connect(self._on_rows)
        live.truncated.connect(self._on_truncated)
        live.event_arrived.connect(self._on_event)
        live.looked.connect(self.numbers.refresh)
        live.owner_changed.connect(self._show_owner)
        self.empty.action_triggered.connect(context.start_sample)
        live.asked.connect(self._on_asked)
        self.header.asked.connect(live.ask)
        self.header.settings_asked.connect(lambda: show_settings(context, self))
        self.outcome.apply_asked.connect(self._apply)
        self.outcome.delete_asked.connect(self._delete)
        self.findings.apply_asked.connect(self._apply)
        self.profile.asked.connect(live.ask)
        self.profile.apply_asked.connect(self._apply)
        self.profile.arrived.connect(self._scroll_to_profile)
        self.curves.checkpoint_clicked.connect(self.checkpoints.choose)
        self.checkpoints.model.refreshed.connect(self._show_checkpoints)
        self.checkpoints.set_aside.shown.connect(self._show_set_aside)
        context.start_problem_changed.connect(self._on_start_problem_changed)
        context.library.refreshed.connect(self._show_what_there_is)
        context.library.failed.connect(self._describe_emptiness)
        self._look_again.timeout.connect(self._look_for_runs)

    # --------------------------------------------------------------------------------------- a run arrives

    @Slot()
    def _look_for_runs(self) -> None:
        if not self._live.live:
            self._context.library.refresh()

    @Slot()
    def _show_what_there_is(self) -> None:
        """While there is nothing to show: the run that somebody else trains, or else the last one."""
        library, live = self._context.library, self._live
        shown = live.folder.path if live.folder is not None else None
        if not self.isVisible() or live.live or self._context.engine.training or shown not in (None, self._found):
            return
        found = next(iter(library.running_elsewhere()), library.latest() if shown is None else None)
        if found is not None and found.folder.path != shown and found.folder.path.is_dir():
            self._found = found.folder.path
            live.attach(found.folder.path)
        else:
            self._describe_emptiness()

    @Slot()
    def _describe_emptiness(self) -> None:
        library = self._context.library
        if library.loaded:
            self.empty.set_content("train", *_NOTHING, *_SAMPLE)
        elif library.problem:
            self.empty.set_content("warning", UNLISTED, library.problem, *_SAMPLE)
        else:
            self.empty.set_content("train", *_LOOKING)

    @Slot()
    def _show_run(self) -> None:
        """Another run, of which nothing is shown yet."""
        self.curves.clear()
        self.numbers.clear()
        self._name_quality()
        self.findings.clear()
        self.system.clear()
        self.empty.button.setEnabled(not self._context.start_problem())
        shown = self._live.folder is not None or self._live.state is RunState.STARTING
        self._stack.setCurrentWidget(self._content if shown else self.empty)
        self.header.show_run(self._live)
        self.deliveries.set_run(self._live.folder)
        self._show_owner()
        self.curves.set_growing(self._live.state in LIVE)
        self.checkpoints.set_run(self._live.folder, self._live.state, self._live.done_at)
        self._show_checkpoints()
        self._show_set_aside()
        self.boundary.set_run(self._live.folder)
        self.evaluation.set_run(self._live.folder)
        self.records.show_run()
        self.profile.set_run(self._live.folder, self._live.state)
        self._show_outcome()

    # -------------------------------------------------------------------------------------------- it moves

    def _name_quality(self) -> None:
        config = self._live.config()
        self.curves.show_config(config)
        if config is not None:
            self.numbers.name_quality(config.monitor)
            self.numbers.quality.reserve_lines(2 if config.loop.early_stopping_patience else 1)  # its counter may wrap

    @Slot(object)
    def _on_state_changed(self, state: RunState) -> None:
        self._stack.setCurrentWidget(self.empty if state is RunState.IDLE else self._content)
        self.header.show_run(self._live)
        self._show_owner()
        self.curves.set_growing(state in LIVE)
        self.checkpoints.set_state(state, self._live.done_at)
        self._show_checkpoints()
        self.profile.set_state(state)
        self._show_outcome()

    @Slot(object)
    def _on_progress_changed(self, progress: Progress) -> None:
        self.header.show_progress(self._live.state, progress)
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
        self.profile.add_event(event)
        config = self._live.config()
        self.numbers.add_event(event, config.monitor if config else "val/accuracy")
        if isinstance(event, AttemptStarted | DataPrepared):
            self.header.show_what(self._live)
        if isinstance(event, AttemptStarted):
            self._name_quality()
            self.system.device.setText(event.device)
            self.system.device_row.setToolTip(event.device_note)
            self.numbers.truncate(event.step)
        elif isinstance(event, PhaseChanged) and event.phase == "preparing data" and event.fraction is None:
            self.findings.clear()  # an attempt begins; what it finds in its data comes before it is announced
        elif isinstance(event, Found) and not event.set_aside:
            self.findings.add(event, config)
        if isinstance(event, (AttemptStarted, *FINAL_EVENTS)):
            self.checkpoints.set_state(self._live.state, self._live.done_at)  # also for a late page
        if isinstance(event, (CheckpointSaved, AttemptStarted, *FINAL_EVENTS)):
            self.checkpoints.refresh()
        if isinstance(event, (Validated, AttemptStarted, *FINAL_EVENTS)):
            self.evaluation.refresh()
            self.boundary.refresh()

    # --------------------------------------------------------------------------------------------- actions

    @Slot(object)
    def _on_asked(self, command: Command) -> None:
        if command is Command.PROFILE:
            self.profile.expect()
            self._scroll_to_profile()

    @Slot()
    def _scroll_to_profile(self) -> None:
        QTimer.singleShot(0, self, lambda: self._content.ensureWidgetVisible(self.profile))  # once it is laid out

    @Slot()
    def _delete(self) -> None:
        if self._live.folder is not None:
            delete_run(self._context, self._live.folder)

    @Slot(object)
    def _apply(self, fix: Mapping[str, JsonValue]) -> None:
        apply_fix(self._context, self, fix, self._live.folder, self._live.config())

    @Slot(str)
    def _on_start_problem_changed(self, problem: str) -> None:
        self.empty.button.setEnabled(not problem)
        self.empty.button.setToolTip(problem)

    @Slot()
    def _show_set_aside(self) -> None:
        self.curves.show_set_aside(self.checkpoints.set_aside.stretches)

    @Slot()
    def _show_checkpoints(self) -> None:
        model = self.checkpoints.model
        self.curves.mark_checkpoints(model.checkpoints)
        self.numbers.show_best(not model.why_no_best or not model.checkpoints, self._live.state in LIVE)

    @Slot()
    def _show_owner(self) -> None:
        elsewhere = self._live.live and not self._context.engine.training
        self.header.show_owner(self._live.owner if elsewhere else None)

    def _show_outcome(self) -> None:
        final = self._live.history.final if self._live.history else None
        live = self._live
        self.outcome.show_outcome(live.state, final, live.death, live.config(), way_on(live.folder))
        self.checkpoints.resume.set_primary(live.state is not RunState.COMPLETED and not self.outcome.proposes)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._live.set_page_shown(True)
        if self._live.folder is None:
            self.empty.set_content("train", *_LOOKING)  # what was true when the page was last seen need not be so now
        self._look_for_runs()
        self._look_again.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._live.set_page_shown(False)
        self._look_again.stop()
