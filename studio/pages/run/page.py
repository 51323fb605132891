"""The Run page: one run, its head and its tabs; live where it is at work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue
from PySide6.QtCore import QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from studio.actions.discarding import discard_progress
from studio.actions.runs import delete_run
from studio.engine.state import LIVE, RunState
from studio.pages.run.about_row import AboutRun
from studio.pages.run.charts_tab import ChartsTab
from studio.pages.run.config_tab import ConfigTab
from studio.pages.run.finding_actions import FindingActions
from studio.pages.run.header import RunHeader
from studio.pages.run.hosted import EVALUATE, TRY_IT, make_hosted
from studio.pages.run.log_tab import LogTab
from studio.pages.run.notices import NoticeStrip
from studio.pages.run.system_tab import SystemTab
from studio.panels.checkpoints.checkpoint_panel import CheckpointPanel
from studio.panels.deliveries import DeliveryLines
from studio.panels.fix_dialog import apply_fix
from studio.panels.outcome_banner import OutcomeBanner
from studio.panels.run_words import UNLISTED
from studio.panels.tabs import TabEntry, Tabs
from studio.state.context import AppContext
from studio.state.runs.live_run import LiveRun
from studio.state.runs.run_library import RunLibrary
from studio.state.runs.way_on import way_on
from studio.theme import SPACING
from studio.widgets import EmptyState, in_widget, vbox
from training.control import Command
from training.events import (
    FINAL_EVENTS,
    AttemptStarted,
    CheckpointSaved,
    DataPrepared,
    Event,
)
from training.runs.folder import RunFolder
from training.runs.records.progress import Progress

_LOOK_AGAIN = 5000  # milliseconds between two looks for runs that others train, while there is nothing to watch
_LOOKING = ("Looking for running training …", "The runs of this workspace are being read.")
_NOTHING = (
    "Nothing is being trained",
    "Set up a run of your own, or start the built-in sample: drawn shapes and a small network, done in under a minute.",
)
_GONE = "This run is not there any more"
_SAMPLE = ("Start the built-in sample", "play")


class RunPage(QWidget):
    """Shows ``context.shown``."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.checkpoints = CheckpointPanel(context)
        self.deliveries = DeliveryLines(context)
        self.about = AboutRun(context)
        about = self.about
        self.header = RunHeader(about.name, about.star, about, self.checkpoints.resume, about.more, self.deliveries)
        self.outcome = OutcomeBanner()
        self.found = FindingActions(context, self)
        self.findings = self.found.list
        self.notices = NoticeStrip(self.outcome, self.findings)
        self.charts = ChartsTab(context, self.checkpoints, self.found.findings)
        self.system = SystemTab(context)
        self.log = LogTab(context)
        self.empty = EmptyState("train", *_LOOKING)
        self.empty.setAccessibleDescription("Start page of training")
        self._was_live = self._is_gone = False
        self._found: Path | None = None  # the run that is shown because there was nothing else to show
        self._look_again = QTimer(self, interval=_LOOK_AGAIN)
        self._lay_out()
        self._connect()
        self._show_run()
        self._run.replay()  # this page may be younger than the run

    @property
    def _run(self) -> LiveRun:
        return self._context.shown.run

    def _lay_out(self) -> None:
        context = self._context
        entries = (
            TabEntry("charts", "Charts", "training", lambda: self.charts),
            TabEntry("evaluate", "Evaluate", "evaluate", lambda: make_hosted(EVALUATE, context)),
            TabEntry("tryit", "Try it", "try-it", lambda: make_hosted(TRY_IT, context)),
            TabEntry("checkpoints", "Checkpoints", "runs", self._make_checkpoints),
            TabEntry("system", "System", "speed", lambda: self.system),
            TabEntry("config", "Config", "runs", lambda: ConfigTab(context)),
            TabEntry("log", "Log", "training", lambda: self.log),
        )
        self.tabs = Tabs(entries, "Parts of the run", self.notices)
        for key in ("checkpoints", "system", "log"):  # they are there already, and go with this page
            self.tabs.build(key)
        self.notices.lie_over(self.tabs.stack)
        margins = (SPACING.l, SPACING.l, SPACING.l, 0)
        self._content = in_widget(vbox(vbox(self.header, margins=margins), (self.tabs, 1), spacing=SPACING.s))
        self._content.setAccessibleName("Training run")
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._content)

    def _make_checkpoints(self) -> QWidget:
        return in_widget(vbox((self.checkpoints, 1), margins=SPACING.l))

    def _connect(self) -> None:
        shown, context = self._context.shown, self._context
        shown.attached.connect(self._show_run)
        shown.state_changed.connect(self._on_state_changed)
        shown.progress_changed.connect(self._on_progress_changed)
        shown.event_arrived.connect(self._on_event)
        shown.owner_changed.connect(self._show_owner)
        shown.asked.connect(self._on_asked)
        shown.checkpoint_wanted.connect(self._show_checkpoint)
        context.live.state_changed.connect(self._show_work)
        self.empty.action_triggered.connect(context.start_sample)
        self.header.asked.connect(self._ask)
        self.about.changed.connect(self._show_name)
        self.header.work_asked.connect(context.show_work)
        self.outcome.apply_asked.connect(self._apply)
        self.outcome.delete_asked.connect(self._delete)
        self.system.profile.asked.connect(lambda command: self._run.ask(command))
        self.system.profile.apply_asked.connect(self._apply)
        self.charts.curves.checkpoint_clicked.connect(self._show_checkpoint)
        self.charts.curves.finding_clicked.connect(self._show_finding)
        context.start_problem_changed.connect(self._on_start_problem_changed)
        context.library.refreshed.connect(self._show_what_there_is)
        context.library.failed.connect(self._describe_emptiness)
        self._look_again.timeout.connect(self._look_for_runs)

    # ---------------------------------------------------------------------------------------------- tabs

    def show_tab(self, key: str) -> QWidget:
        """Bring a tab to the front."""
        return self.tabs.show_tab(key)

    def front(self) -> QWidget:
        """What is seen of the run now."""
        return self.tabs.front()

    def help_topic(self) -> str:
        """The page of the help that tells of the tab in front."""
        return self.tabs.help_topic()

    @Slot(str)
    def _show_checkpoint(self, name: str) -> None:
        self.show_tab("checkpoints")
        self.checkpoints.choose(name)

    @Slot(str)
    def _show_finding(self, name: str) -> None:
        self.notices.open()
        self.findings.select(name)

    # --------------------------------------------------------------------------------------- a run arrives

    @Slot()
    def _look_for_runs(self) -> None:
        if not self._run.live:
            self._context.library.refresh()
            if self._is_gone != self._run.is_gone():
                self._bring_forward(is_there=self._run.folder is not None)

    def _bring_forward(self, *, is_there: bool) -> None:
        """The run, or what is said in its place."""
        self._is_gone = self._run.is_gone()
        if self._is_gone:
            self._describe_emptiness()
        self._stack.setCurrentWidget(self._content if is_there and not self._is_gone else self.empty)

    @Slot()
    def _show_what_there_is(self) -> None:
        """While there is nothing to show: the run that somebody else trains, or else the last one."""
        library, live = self._context.library, self._context.live
        shown = self._run.folder.path if self._run.folder is not None else None
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
        gone = self._run.folder if self._is_gone else None
        self.empty.set_content(*(_describe_gone(gone) if gone else _describe_nothing(self._context.library)))

    @Slot()
    def _show_run(self) -> None:
        """Another run, of which nothing is shown yet."""
        run = self._run
        self.empty.button.setEnabled(not self._context.start_problem())
        is_there = run.folder is not None or run.state is RunState.STARTING
        self._bring_forward(is_there=is_there)
        self._show_name()
        self.deliveries.set_run(run.folder)
        self._show_owner()
        self._show_work()
        self.checkpoints.set_run(run.folder, run.state, run.done_at)
        self._show_outcome()

    # -------------------------------------------------------------------------------------------- it moves

    @Slot(object)
    def _on_state_changed(self, state: RunState) -> None:
        self._bring_forward(is_there=state is not RunState.IDLE)
        self._show_name()
        self._show_owner()
        self.checkpoints.set_state(state, self._run.done_at)
        self._show_outcome()
        if self._was_live and state in (RunState.FAILED, RunState.INTERRUPTED):
            self.notices.open()
        self._was_live = state in LIVE

    @Slot(object)
    def _on_progress_changed(self, progress: Progress) -> None:
        self.header.show_progress(self._run.state, progress)

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        if isinstance(event, AttemptStarted | DataPrepared):
            self.header.show_what(self._run)
        if isinstance(event, (AttemptStarted, *FINAL_EVENTS)):
            self.checkpoints.set_state(self._run.state, self._run.done_at)  # also for a late page
        if isinstance(event, (CheckpointSaved, AttemptStarted, *FINAL_EVENTS)):
            self.checkpoints.refresh()

    # --------------------------------------------------------------------------------------------- actions

    @Slot(object)
    def _on_asked(self, command: Command) -> None:
        if command is Command.PROFILE:
            self.system.profile.expect()
            self.show_tab("system")

    @Slot()
    def _ask(self, command: Command) -> None:
        if command is Command.STOP_NOW:
            discard_progress(self._context.notifier, self._run)
        else:
            self._run.ask(command)

    def _delete(self) -> None:
        if self._run.folder is not None:
            delete_run(self._context, self._run.folder)

    @Slot(object)
    def _apply(self, fix: Mapping[str, JsonValue]) -> None:
        apply_fix(self._context, self, fix, self._run.folder, self._run.config())

    @Slot(str)
    def _on_start_problem_changed(self, problem: str) -> None:
        self.empty.button.setEnabled(not problem)
        self.empty.button.setToolTip(problem)

    @Slot()
    def _show_owner(self) -> None:
        run = self._run
        ours = run is self._context.live and self._context.engine.training
        self.header.show_owner(run.owner if run.live and not ours else None)

    @Slot()
    def _show_name(self) -> None:
        self.header.show_facts(self.about.find_run())
        self.header.show_run(self._run, self.about.find_about().name)

    @Slot()
    def _show_work(self) -> None:
        live = self._context.live
        away = self._run is not live and live.live
        self.header.show_work(live.name if away else "")

    def _show_outcome(self) -> None:
        run = self._run
        final = run.history.final if run.history else None
        self.outcome.show_outcome(run.state, final, run.death, run.config(), way_on(run.folder))
        self.checkpoints.resume.set_primary(run.state is not RunState.COMPLETED and not self.outcome.proposes)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._context.shown.set_page_shown(True)
        if self._run.folder is None:
            self.empty.set_content("train", *_LOOKING)  # what was true when the page was last seen need not be so now
        self._look_for_runs()
        self._look_again.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._context.shown.set_page_shown(False)
        self._look_again.stop()


def _describe_gone(folder: RunFolder) -> tuple[str, ...]:
    words = f"{folder.path} was moved, renamed or deleted. Put it back, or choose another run on the Runs page."
    return "warning", _GONE, words


def _describe_nothing(library: RunLibrary) -> tuple[str, ...]:
    """What the list of runs says where there is none to show."""
    if library.loaded:
        return "train", *_NOTHING, *_SAMPLE
    if library.problem:
        return "warning", UNLISTED, library.problem, *_SAMPLE
    return "train", *_LOOKING
