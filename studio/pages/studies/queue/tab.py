"""The queue of the workspace: who works it off, its entries in their order, and what can be done with those that are chosen."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QMenu, QPushButton, QStackedLayout, QWidget

from studio.actions.files import reveal
from studio.actions.queueing import clear_over, move_entry, remove_entries, retry_entries, stop_run
from studio.pages.studies.queue.table import QueueTable, QueueView
from studio.pages.studies.queue.workers_row import WorkersRow
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import EmptyState, button, flow_box, in_widget, label, vbox
from training.queue.entries import OVER
from training.queue.overview import Shown
from training.queue.store import BOTTOM, FILE, TOP

_READING = ("Reading the queue …", "Runs that wait for their turn, and what became of those that had it.")
_NOTHING = (
    "The queue is empty",
    "Runs added to the queue are trained one after another, also while the window is closed. “Add to queue” on Setup adds one.",
    "Go to Setup",
    "setup",
)
_RETRIED = ("failed", "stopped", "passed over")


class QueueTab(QWidget):
    """What there is, and what can be done with it."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._queue = context.queue
        self.model = QueueTable(context.queue, self)
        self.table = QueueView(self.model)
        self.workers = WorkersRow(context)
        self.empty = EmptyState("list", *_READING)
        self.why = label("", "help", wrap=True, selectable=True)
        self._acts: dict[str, QPushButton] = {}
        self._make_buttons()
        self._lay_out()
        self.table.chosen_changed.connect(self._update)
        self.table.move_asked.connect(self._move)
        self.table.remove_asked.connect(lambda: self._press("remove"))
        self.table.open_asked.connect(lambda: self._press("open"))
        self.table.menu_asked.connect(self._show_menu)
        self.empty.action_triggered.connect(self._on_empty_pressed)
        context.queue.changed.connect(self._show)
        self._show()

    def _make_buttons(self) -> None:
        acts = (
            ("open", "Open run", "train", lambda: self._open(), "Show its run on the Run page (Enter)"),
            ("top", "Top", "first", lambda: self._move(TOP), "Train it next (Alt+Home)"),
            ("up", "Up", "chevron-up", lambda: self._step(-1), "One place earlier (Alt+Up)"),
            ("down", "Down", "chevron-down", lambda: self._step(1), "One place later (Alt+Down)"),
            ("bottom", "Bottom", "last", lambda: self._move(BOTTOM), "Train it last (Alt+End)"),
            ("stop", "Stop run", "stop", lambda: self._stop(), "Stop and keep this run, and go on with the next"),
            ("retry", "Retry", "refresh", lambda: self._retry(), "Another turn: its run goes on where it has one"),
            ("remove", "Remove", "trash", lambda: self._remove(), "Take it out of the queue; its run stays (Delete)"),
            ("clear", "Clear ended", "check", lambda: clear_over(self._context), "Take out all that had their turn"),
        )
        for key, text, image, act, tooltip in acts:
            made = button(text, image, tooltip=tooltip, clicked=act)
            made.setProperty("said", tooltip)
            self._acts[key] = made

    def _lay_out(self) -> None:
        buttons = in_widget(flow_box(*self._acts.values()))
        margins = (SPACING.l, SPACING.s, SPACING.l, SPACING.l)
        self._content = in_widget(
            vbox(self.workers, (self.table, 1), self.why, buttons, spacing=SPACING.m, margins=margins)
        )
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._content)

    # ------------------------------------------------------------------------------------------- showing

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._queue.refresh()

    @Slot()
    def _show(self) -> None:
        queue = self._queue
        if queue.problem:
            self.empty.set_content("warning", "The queue cannot be read", queue.problem, "Show the file", "folder")
        elif queue.loaded:
            self.empty.set_content("list", *_NOTHING)
        is_something = bool(queue.overview.shown or queue.overview.workers or queue.overview.paused or queue.starting)
        self._stack.setCurrentWidget(self._content if is_something and not queue.problem else self.empty)
        self.model.refresh()

    @Slot()
    def _update(self) -> None:
        chosen = self.table.list_chosen()
        for key, problem in self._explain(chosen).items():
            self._acts[key].setEnabled(not problem)
            self._acts[key].setToolTip(problem or self._acts[key].property("said"))
            self._acts[key].setAccessibleDescription(problem)
        self.why.setText(
            f"“{chosen[0].entry.name}”: {chosen[0].reason}" if len(chosen) == 1 and chosen[0].reason else ""
        )

    def _explain(self, chosen: list[Shown]) -> dict[str, str]:
        """For each button, why it cannot be pressed now; "" where it can."""
        states = {shown.state for shown in chosen}
        one = chosen[0] if len(chosen) == 1 else None
        waiting = self._queue.overview.list_state("waiting")
        choose = "Choose a run in the list." if not chosen else "Choose one run alone."
        place = one.place if one is not None else 0
        move = choose if one is None else "" if place else "It does not wait, so it has no place to move to."
        open_ = choose if one is None else "" if self._queue.find_record(one) is not None else "It has no run yet."
        stop = choose if one is None else "" if one.state == "at work" else "It is not at work."
        return {
            "open": open_,
            "top": move or ("It is trained next already." if place == 1 else ""),
            "up": move or ("It is trained next already." if place == 1 else ""),
            "down": move or ("It is the last one already." if place == len(waiting) else ""),
            "bottom": move or ("It is the last one already." if place == len(waiting) else ""),
            "stop": stop or ("It was asked for an end." if one is not None and one.entry.stop else ""),
            "retry": self._explain_retry(chosen),
            "remove": "Stop the run first." if "at work" in states else "" if chosen else choose,
            "clear": "" if self._queue.overview.list_state(*OVER) else "No run has had its turn yet.",
        }

    def _explain_retry(self, chosen: list[Shown]) -> str:
        if not chosen:
            return "Choose a run in the list."
        if all(shown.state in _RETRIED for shown in chosen):
            return ""
        return "Only what failed, was stopped or was passed over can have another turn."

    # ------------------------------------------------------------------------------------------- actions

    def _press(self, key: str) -> None:
        """As its button; without effect where that cannot be pressed."""
        self._acts[key].click()

    @Slot(QPoint)
    def _show_menu(self, where: QPoint) -> None:
        if not self.table.indexAt(where).isValid():
            return
        menu = QMenu(self)
        for key, made in self._acts.items():
            if key == "clear":
                continue
            action = menu.addAction(made.icon(), made.text(), made.click)
            action.setEnabled(made.isEnabled())
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.table.viewport().mapToGlobal(where))

    def _open(self) -> None:
        chosen = self.table.list_chosen()
        place = self._queue.queue.place_of_run(chosen[0].entry) if chosen else None
        if place is not None and not place.path.is_dir():
            self._context.notifier.notify(
                "File, Trash … brings it back if it is there.", "warning", title="Its run was deleted"
            )
        elif place is not None:
            self._context.open_run(place.path)

    @Slot(str)
    def _move(self, place: str) -> None:
        chosen = self.table.list_chosen()
        if len(chosen) == 1 and chosen[0].place:
            move_entry(self._context, chosen[0], place)

    def _step(self, by: int) -> None:
        chosen = self.table.list_chosen()
        if chosen:
            self._move(str(max(chosen[0].place + by, 1)))

    def _stop(self) -> None:
        stop_run(self._context, self.table.list_chosen()[0])

    def _retry(self) -> None:
        retry_entries(self._context, self.table.list_chosen(), self)

    def _remove(self) -> None:
        remove_entries(self._context, self.table.list_chosen())

    @Slot()
    def _on_empty_pressed(self) -> None:
        if self._queue.problem:
            reveal(self._queue.queue.folder / FILE)
        else:
            self._context.show_page("setup")
