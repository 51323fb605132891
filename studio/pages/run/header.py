"""The head of the Run page: which run, where it stands, how far it is, and the buttons that steer it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QMenu, QWidget

from studio.engine.state import ENDED, RunAction, RunState, is_enabled
from studio.pages.run.about_row import NameInPlace
from studio.panels.run_words import STATE_WORDS
from studio.state.formats import format_rate
from studio.state.runs.live_run import LiveRun, summary_of
from studio.state.runs.run_library import RunSummary
from studio.theme import SPACING, icon, set_property, set_role
from studio.widgets import Card, ElidedLabel, ProgressLine, StatusPill, SteadyLabel, button, hbox, label
from training.control import Command
from training.errors import format_bytes, format_duration
from training.runs.records.progress import Progress

_TONES = {
    RunState.COMPLETED: "success",
    RunState.FAILED: "danger",
    RunState.PAUSED: "warning",
    RunState.PAUSING: "warning",
    RunState.INTERRUPTED: "warning",
}


class RunHeader(Card):
    """Two lines: ``name``, ``star``, state, and Pause, Stop, Save, Validate, beside them ``resume``, which is there for a run that ended, and ``more``;
    then what is trained, how far it is, and ``about``. Below them a bar while the run is at work, and ``below``.

    Signals:
        asked(Command): a button was pressed.
        work_asked(): show the run at work, which is another one.
    """

    asked = Signal(object)
    work_asked = Signal()

    def __init__(
        self, name: NameInPlace, star: QWidget, about: QWidget, resume: QWidget, more: QWidget, below: QWidget
    ) -> None:
        super().__init__()
        self._below, self._star, self._about = below, star, about
        self._edited, self._name = name, name.label
        self._pill = StatusPill()
        self.what = ElidedLabel("", Qt.TextElideMode.ElideRight)
        set_role(self.what, "help")
        self.work = button("", "train", "ghost", tooltip="Show the run that is being trained")
        self.work.hide()
        self.words = SteadyLabel("caption")
        self._progress = ProgressLine()
        self.owner = label("", "caption", wrap=True)
        self.owner.hide()
        self.pause = button("Pause", "pause", tooltip="Hold still after this step, keep everything in memory (Ctrl+P)")
        self.stop = button("Stop", "stop", "danger", tooltip="End the run; it can be resumed (Ctrl+.)")
        self.save = button("Save now", "save", tooltip="Write a checkpoint after this step (Ctrl+S)")
        self.validate = button("Validate now", "check", tooltip="Measure the validation set after this step")
        self.resume = resume
        self.more = more
        self._paused = False
        self._facts = ""
        self._short = {self.save: self.save.text(), self.validate: self.validate.text()}  # by button: its words
        for made, words in self._short.items():
            made.setAccessibleName(words)
        self._widths = {made: made.sizeHint().width() for made in self._short}
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
        """Let two of the buttons go without their words where the name would be shortened beside them."""
        name = self._name.fontMetrics().horizontalAdvance(self._name.text()) + SPACING.s
        name += self._star.sizeHint().width() + SPACING.s if not self._star.isHidden() else 0
        margins = self.contentsMargins()
        room = self.width() - 2 * SPACING.m - margins.left() - margins.right() - 2
        room -= name + self._pill.sizeHint().width() + SPACING.s + SPACING.l
        shown = [made for made in (self.resume, self.pause, self.stop, self.more) if not made.isHidden()]
        room -= sum(made.sizeHint().width() + SPACING.s for made in shown)
        fitting = [made for made in self._short if not made.isHidden()]
        if not fitting:
            return
        needed = sum(self._widths[made] + SPACING.s for made in fitting)
        for made, words in self._short.items():
            text = words if needed <= room else ""
            if made.text() != text:
                made.setText(text)

    def show_progress(self, state: RunState, progress: Progress) -> None:
        """The bar while there is something to wait for, and words for how far it is."""
        tone = _TONES.get(state, "accent")
        fraction = progress.fraction
        ended = state in ENDED
        busy = state in (RunState.STARTING, RunState.PREPARING) or (fraction is None and not ended)
        said = " · ".join(filter(None, (_headline(state, progress), _detail(state, progress))))
        self._progress.set_progress(None if busy else fraction or 0.0, tone=tone)  # type: ignore[arg-type]
        self._progress.setAccessibleName(said or "Progress")
        self._progress.setVisible(not ended)
        self.words.setText(self._facts if ended and self._facts else said)

    def show_facts(self, run: RunSummary | None) -> None:
        """What became of a run that ended, as the list of runs has it; None: the list does not have it yet."""
        self._facts = _facts(run) if run is not None else ""

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
        buttons = hbox(self.resume, self.pause, self.stop, self.save, self.validate, self.more, spacing=SPACING.s)
        row = hbox((words, 1), buttons, spacing=SPACING.l)
        what = hbox((self.what, 1), self.work, self.words, self._about, spacing=SPACING.m)
        self.body.setSpacing(SPACING.xs)
        layout = self.layout()
        assert layout is not None
        layout.setContentsMargins(SPACING.m, SPACING.s, SPACING.m, SPACING.s)
        self.add(row, what, self._progress, self.owner, self._below)

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


def _facts(run: RunSummary) -> str:
    step, total = run.record.step, run.record.total_steps
    parts = [f"step {step:,} of {total:,}" if total else f"step {step:,}", format_duration(run.duration)]
    if run.size is not None:
        parts.append(format_bytes(run.size))
    return " · ".join(parts)
