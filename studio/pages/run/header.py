"""The head of the Run page: which run, where it stands, how far it is, and the buttons that steer it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QMenu, QWidget

from studio.engine.state import ENDED, RunAction, RunState, is_enabled
from studio.pages.run.about_row import NameInPlace
from studio.panels.run_words import STATE_WORDS
from studio.state.formats import format_rate
from studio.state.runs.live_run import LiveRun, summary_of
from studio.theme import SPACING, icon, set_property, set_role
from studio.widgets import Card, ElidedLabel, ProgressLine, StatusPill, button, hbox, label
from training.control import Command
from training.errors import format_duration
from training.runs.records.progress import Progress

_TONES = {
    RunState.COMPLETED: "success",
    RunState.FAILED: "danger",
    RunState.PAUSED: "warning",
    RunState.PAUSING: "warning",
    RunState.INTERRUPTED: "warning",
}


class RunHeader(Card):
    """``name``, ``star``, state, progress, and Pause, Stop, Save, Validate; beside them ``resume``, which is there for a run that ended, ``about`` at the right of what is
    trained, and ``below`` all of it.

    Signals:
        asked(Command): a button was pressed.
        work_asked(): show the run at work, which is another one.
    """

    asked = Signal(object)
    work_asked = Signal()

    def __init__(self, name: NameInPlace, star: QWidget, about: QWidget, resume: QWidget, below: QWidget) -> None:
        super().__init__()
        self._below, self._star, self._about = below, star, about
        self._edited, self._name = name, name.label
        self._pill = StatusPill()
        self.what = ElidedLabel("", Qt.TextElideMode.ElideRight)
        set_role(self.what, "help")
        self.work = button("", "train", "ghost", tooltip="Show the run that is being trained")
        self.work.hide()
        self._progress = ProgressLine()
        self.owner = label("", "caption", wrap=True)
        self.owner.hide()
        self.pause = button("Pause", "pause", tooltip="Hold still after this step, keep everything in memory (Ctrl+P)")
        self.stop = button("Stop", "stop", "danger", tooltip="End the run; it can be resumed (Ctrl+.)")
        self.save = button("Save now", "save", tooltip="Write a checkpoint after this step (Ctrl+S)")
        self.validate = button("Validate now", "check", tooltip="Measure the validation set after this step")
        self.resume = resume
        self._paused = False
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._buttons = QHBoxLayout()
        self._lay_out()
        self._connect()

    def show_run(self, run: LiveRun, name: str = "") -> None:
        """Take state and progress from ``run``, and its name where the person gave it none, ``name``."""
        config = run.config()
        self._edited.set_text(name or (config.name if config else run.title or (run.folder.id if run.folder else "")))
        self.show_what(run)
        self.show_state(run.state)
        self.show_progress(run.state, run.progress)

    def show_what(self, run: LiveRun) -> None:
        """Say what is trained on what; more is known once the data are open and the network is built."""
        self.what.setText(summary_of(run))
        self.what.setVisible(bool(self.what.text()))

    def show_owner(self, process: int | None) -> None:
        """Say that another process than this window's engine works on the run; None takes the words away."""
        self.owner.setVisible(process is not None)
        self.owner.setText(f"Process {process} trains it, outside this window. It can be watched and steered here.")

    def show_work(self, name: str) -> None:
        """Offer the way to the run at work, called ``name``, while another one is shown; "" takes it away."""
        self.work.setVisible(bool(name))
        self.work.setText(f"“{name}” is being trained" if name else "")

    def show_state(self, state: RunState) -> None:
        """Pill and buttons."""
        self._pill.set_status(*STATE_WORDS[state])
        self._paused = is_enabled(RunAction.CONTINUE, state)
        self.pause.setText("Continue" if self._paused else "Pause")
        self.pause.setIcon(icon("play" if self._paused else "pause"))
        self.pause.setEnabled(self._paused or is_enabled(RunAction.PAUSE, state))
        self.stop.setEnabled(is_enabled(RunAction.STOP, state))
        self.save.setEnabled(is_enabled(RunAction.SAVE, state))
        self.validate.setEnabled(is_enabled(RunAction.VALIDATE, state))
        ended = state in ENDED
        for made in (self.pause, self.stop, self.save, self.validate):
            made.setVisible(not ended)
        self._make_room_for_name()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # a button has other words
            self._make_room_for_name()
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room_for_name()

    def _make_room_for_name(self) -> None:
        """Put the buttons below the name where it would be shortened beside them."""
        name = self._name.fontMetrics().horizontalAdvance(self._name.text()) + SPACING.s
        name += self._star.sizeHint().width() + SPACING.s if not self._star.isHidden() else 0
        beside = name + SPACING.s + self._pill.sizeHint().width() + SPACING.l + self._buttons.sizeHint().width()
        below = beside > self.width() - 2 * SPACING.l - 2
        way = QBoxLayout.Direction.TopToBottom if below else QBoxLayout.Direction.LeftToRight
        if self._row.direction() != way:
            self._row.setDirection(way)
            self._row.setSpacing(SPACING.s if below else SPACING.l)
            self._buttons.setAlignment(Qt.AlignmentFlag.AlignLeft if below else Qt.AlignmentFlag.AlignRight)

    def show_progress(self, state: RunState, progress: Progress) -> None:
        """The bar and its words."""
        tone = _TONES.get(state, "accent")
        fraction = progress.fraction
        busy = state in (RunState.STARTING, RunState.PREPARING) or (fraction is None and state not in ENDED)
        self._progress.set_progress(
            None if busy else fraction or 0.0,
            _headline(state, progress),
            _detail(state, progress),
            tone,  # type: ignore[arg-type]
        )

    def _lay_out(self) -> None:
        menu = QMenu(self)
        keep = menu.addAction(icon("save"), "Stop && save checkpoint")
        keep.setToolTip("Write a checkpoint, then end")
        discard = menu.addAction(icon("trash"), "Stop && discard progress")
        keep.triggered.connect(lambda: self.asked.emit(Command.STOP))
        discard.triggered.connect(lambda: self.asked.emit(Command.STOP_NOW))
        self.stop.setMenu(menu)
        set_property(self.stop, "hasMenu", True)
        words = hbox(self._star, (self._edited, 1), self._pill)
        self._buttons.setSpacing(SPACING.s)
        for made in (self.resume, self.pause, self.stop, self.save, self.validate):
            self._buttons.addWidget(made)
        self._row.setSpacing(SPACING.l)
        self._row.addLayout(words, 1)
        self._row.addLayout(self._buttons)
        what = hbox((self.what, 1), self.work, self._about)
        self.add(self._row, what, self._progress, self.owner, self._below)

    def _connect(self) -> None:
        self.pause.clicked.connect(self._on_pause_clicked)
        self.save.clicked.connect(lambda: self.asked.emit(Command.SAVE))
        self.validate.clicked.connect(lambda: self.asked.emit(Command.VALIDATE))
        self.work.clicked.connect(self.work_asked)

    @Slot()
    def _on_pause_clicked(self) -> None:
        self.asked.emit(Command.CONTINUE if self._paused else Command.PAUSE)


def _headline(state: RunState, progress: Progress) -> str:
    if state is RunState.STARTING:
        return "Handing the run to the engine"
    if progress.fraction is None:
        return "Preparing data and model" if state is RunState.PREPARING else ""
    share = f"{progress.fraction:.0%}"
    if state is RunState.PREPARING:
        return f"{share} · preparing data and model"
    return share


def _detail(state: RunState, progress: Progress) -> str:
    if not progress.total_steps:
        return ""
    parts = []
    if progress.epoch:
        parts.append(f"epoch {progress.epoch} of {progress.epochs}")
    parts.append(f"step {progress.step:,} of {progress.total_steps:,}")
    if state in (RunState.TRAINING, RunState.VALIDATING, RunState.SAVING):
        if progress.eta is not None:
            parts.append(f"{format_duration(progress.eta)} left")
        if progress.samples_per_second:
            parts.append(f"{format_rate(progress.samples_per_second)} samples/s")
    return " · ".join(parts)
