"""Sweeps of the workspace: a list, and beside it the one chosen, live while it works."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QDialog, QSplitter, QStackedLayout, QWidget

from studio.pages.studies.sweeps.detail import SweepDetail, stand
from studio.pages.studies.sweeps.new_dialog import NewSweepDialog
from studio.pages.studies.sweeps.sweep_list import SweepList
from studio.state.context import AppContext
from studio.state.sweeps.sweep_library import SweepLibrary
from studio.theme import SPACING
from studio.widgets import STRETCH, Banner, EmptyState, button, hbox, in_widget, label, vbox
from training.errors import InputError, pluralize
from training.sweeps.optuna_study import require_optuna

_LOOK = 2000  # milliseconds between two looks while any sweep is worked on
_LIST = 250
_READING = ("sliders", "Reading the sweeps …", "Every sweep of this workspace, with its trials.")
_NOTHING = (
    "sliders",
    "No sweeps yet",
    "A sweep trains many runs with other settings and shows which of them are better. Choose “Sweep this setting” from the menu of any setting on "
    "Setup, or begin here.",
)
_NEW = "New sweep …"


class SweepsTab(QWidget):
    """What there is, and what can be done with it."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context, self._job = context, context.sweeps
        self.library = SweepLibrary(context.workspace, context.background.make_other(), self)
        self._wanted: Path | None = None  # was just made, and is to be shown
        self.empty = EmptyState(*_READING)
        self.new = button(_NEW, "plus", clicked=self.ask_for_sweep)
        self.count = label("", "caption")
        self.list = SweepList(lambda known: stand(known, context))
        self.detail = SweepDetail(context)
        left = in_widget(vbox(hbox(self.count, STRETCH, self.new), (self.list, 1)))
        left.setMinimumWidth(200)
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._split.setHandleWidth(SPACING.l)
        self._split.addWidget(left)
        self._split.addWidget(self.detail)
        self._split.setStretchFactor(1, 1)
        self._split.setChildrenCollapsible(False)
        self._split.setSizes([_LIST, 900])
        self.prepared = Banner("info", "", closable=False)
        self.prepared.add_action(_NEW, self.ask_for_sweep, variant="primary")
        self.prepared.add_action("Take all out", self._take_all_out)
        self.prepared.hide()
        self._stack = QStackedLayout()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._split)
        vbox(self.prepared, (self._stack, 1), parent=self, spacing=SPACING.m, margins=SPACING.l)
        self._timer = QTimer(self, interval=_LOOK)
        self._timer.timeout.connect(self._look)
        self.library.changed.connect(self._show)
        self.list.chosen.connect(self._on_chosen)
        self.detail.changed.connect(self.library.refresh)
        self._job.changed.connect(self._on_job)
        self.empty.action_triggered.connect(self.ask_for_sweep)
        context.draft.swept.changed.connect(self._show_prepared)
        self._show_prepared()

    @Slot()
    def ask_for_sweep(self) -> None:
        """Prepare a sweep of the draft, and show it once it was made."""
        base = self._context.draft.config()
        if base is None:
            self._context.notifier.notify(
                "Some settings need attention before a sweep of them can be made.",
                "warning",
                title="Setup is not complete",
            )
            self._context.show_page("setup")
            self._context.draft.touched.demand()
            return
        dialog = NewSweepDialog(self._context, base, self.window())
        accepted = dialog.exec() == QDialog.DialogCode.Accepted
        dialog.deleteLater()
        if not accepted or dialog.made is None:
            return
        self._wanted = dialog.made.path
        if dialog.is_to_start:
            self._job.start(dialog.made)
        self.library.refresh()

    @Slot()
    def _show_prepared(self) -> None:
        """Which settings were put into the sweep that is to come."""
        paths = list(self._context.draft.swept.texts)
        self.prepared.setVisible(bool(paths))
        self.prepared.set_message(f"{pluralize(len(paths), 'setting')} in the sweep being prepared", ", ".join(paths))

    def _take_all_out(self) -> None:
        swept = self._context.draft.swept
        before = swept.texts
        swept.clear()

        def undo() -> None:
            for path, text in before.items():
                swept.put(path, text)

        self._context.notifier.notify("No setting is in the sweep any more.", action_text="Undo", action=undo)

    @Slot()
    def _look(self) -> None:
        if self._job.is_busy or any(each.is_alive for each in self.library.sweeps):
            self.library.refresh()

    @Slot()
    def _on_job(self) -> None:
        if self.isVisible() and not self._job.is_busy:
            self.library.refresh()  # how it ended
        self.list.viewport().update()

    @Slot()
    def _show(self) -> None:
        library = self.library
        if library.problem:
            self.empty.set_content("warning", "The sweeps cannot be read", library.problem)
        elif library.loaded:
            self._say_nothing()
        self._stack.setCurrentWidget(self._split if library.sweeps else self.empty)
        self.count.setText(pluralize(len(library.sweeps), "sweep"))
        current = library.find(self._wanted) or library.find(self.list.current()) or next(iter(library.sweeps), None)
        if current is None:
            return
        if library.find(self._wanted) is not None:
            self._wanted = None
        self.list.show_sweeps(library.sweeps, current.sweep.path)
        self.detail.show_sweep(current)

    def _say_nothing(self) -> None:
        try:
            require_optuna()
        except InputError as error:
            self.empty.set_content("warning", "Sweeps need Optuna", str(error))
        else:
            self.empty.set_content(*_NOTHING, _NEW, "plus")

    @Slot(object)
    def _on_chosen(self, path: Path) -> None:
        known = self.library.find(path)
        if known is not None:
            self.detail.show_sweep(known)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.library.refresh()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()
