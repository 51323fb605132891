"""Who works the queue off: a line for each process, or the sentence why there is none, with what can be done about it."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from studio.actions.files import open_file
from studio.actions.queueing import go_on, set_paused, start_worker, stop_worker
from studio.state.context import AppContext
from studio.theme import SPACING, IconRole
from studio.widgets import IconLabel, button, empty, hbox, in_widget, label, vbox
from training.queue.entries import ALL_DEVICES, AUTO
from training.queue.start import list_logs, log_of
from training.queue.workers import describe
from training.runs.owner import Owner


class WorkersRow(QWidget):
    """Start, pause, and the processes at work."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.sentence = label("", "field", wrap=True)
        self.start_button = button("Start", "play", "primary", clicked=lambda: go_on(context))
        self.start_button.setToolTip("Train what waits, one run after another, also while this window is closed")
        self.pause_button = button("Pause", "pause", clicked=self._toggle_pause)
        self.more_button = button("Processes", "cpu", tooltip="Start one for each device, and read their logs")
        self._menu = QMenu(self.more_button)
        self._menu.aboutToShow.connect(self._fill_menu)
        self.more_button.setMenu(self._menu)
        self._lines = vbox(spacing=SPACING.xs)
        head = hbox((self.sentence, 1), self.more_button, self.pause_button, self.start_button)
        vbox(head, self._lines, parent=self, spacing=SPACING.xs)
        self._told: object = None
        context.queue.changed.connect(self.refresh)
        context.library.refreshed.connect(self.refresh)  # which knows the name of a run that is waited for
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Say how things stand now."""
        queue = self._context.queue
        overview = queue.overview
        self.sentence.setText(self._describe())
        self.pause_button.setText("End pause" if overview.paused else "Pause")
        self.pause_button.setToolTip(
            "Let the queue begin runs again" if overview.paused else "Begin no more runs; what is at work is finished"
        )
        waits = bool(overview.left_alone)
        self.start_button.setVisible(waits)
        self.start_button.setEnabled(not queue.starting)
        self.start_button.setText("Starting …" if queue.starting else "Go on" if self._find_interrupted() else "Start")
        told = tuple(overview.workers.items())
        if told != self._told:
            self._told = told
            empty(self._lines)
            for device, owner in told:
                self._lines.addWidget(self._make_line(device, owner))

    def _find_interrupted(self) -> bool:
        return bool(self._context.queue.overview.list_state("interrupted"))

    def _describe(self) -> str:
        queue = self._context.queue
        overview = queue.overview
        if overview.left_alone and not queue.starting:
            paused = "The queue is paused, and n" if overview.paused else "N"
            went = " any more: its process was killed, or went with the machine" if self._find_interrupted() else ""
            return f"{paused}o process trains its runs{went}."
        if overview.paused:
            return "The queue is paused: what is at work is finished, and nothing more is begun."
        if queue.starting and not overview.workers:
            return "Starting …"
        if overview.waits_for:
            run = self._context.library.find(overview.waits_for)
            name = self._context.library.title_of(run) if run is not None else overview.waits_for
            return f"It waits for the end of “{name}”, which is trained outside the queue."
        if overview.list_state("at work"):
            return "Runs are trained one after another, also while this window is closed."
        if overview.workers:
            return "Nothing waits that could be trained there."
        return "Nothing waits."

    def _make_line(self, device: str, owner: Owner) -> QWidget:
        role: IconRole = "success"
        dot = IconLabel("dot", 10, role)
        words = label(f"{describe(device).capitalize()}: {owner}", "caption", wrap=True)
        log = button(
            "Log", "file", "ghost", tooltip="Open what this process says", clicked=partial(self._open_log, device)
        )
        stop = button("Stop", "stop", "ghost", clicked=partial(self._stop, device))
        stop.setToolTip("End this process: its run stops after the step, is kept, and stays the first")
        stop.setAccessibleName(f"Stop the process for {describe(device)}")
        log.setAccessibleName(f"Log of the process for {describe(device)}")
        return in_widget(hbox(dot, (words, 1), log, stop))

    def _open_log(self, device: str, _checked: bool = False) -> None:
        open_file(log_of(self._context.queue.queue, device))

    def _stop(self, device: str, _checked: bool = False) -> None:
        stop_worker(self._context, device)

    @Slot()
    def _toggle_pause(self) -> None:
        set_paused(self._context, not self._context.queue.overview.paused)

    @Slot()
    def _fill_menu(self) -> None:
        self._menu.clear()
        overview = self._context.queue.overview
        info = self._context.engine.info
        known = [*(info.devices if info is not None else ()), *(shown.entry.device for shown in overview.shown)]
        names = dict.fromkeys("cuda:0" if name == "cuda" else name for name in known if name != AUTO)
        for device in names:
            action = QAction(f"Start on {device}", self._menu)
            action.setEnabled(not {device, ALL_DEVICES} & {*overview.workers, *self._context.queue.starting})
            action.triggered.connect(partial(self._start, device))
            self._menu.addAction(action)
        if not names:
            self._menu.addAction("The engine is still looking for devices").setEnabled(False)
        self._menu.addSeparator()
        for device in list_logs(self._context.queue.queue):
            action = QAction(f"Open the log for {describe(device)}", self._menu)
            action.triggered.connect(partial(self._open_log, device))
            self._menu.addAction(action)

    def _start(self, device: str, _checked: bool = False) -> None:
        start_worker(self._context, device)
