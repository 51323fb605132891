"""What the tabs of studies and of sweeps have alike: a list with "New …" above it, beside the one that is looked at."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QSplitter, QStackedLayout, QWidget

from studio.actions.places import WRONG_SETUP
from studio.pages.studies.set_list import SetList, SetRow
from studio.panels.kept_sizes import KeptSizes
from studio.state.context import AppContext
from studio.state.found_list import FoundList
from studio.state.side_job import FolderJob
from studio.theme import SPACING
from studio.widgets import EmptyState, button, hbox, in_widget, label, make_breakable, vbox

_LOOK = 2000  # milliseconds between two looks while the tab is seen and one works
_LEAST_LIST, _MOST_LIST, _SHARE = 250, 330, 0.3  # pixels, and the share of the width, before a person moves the handle


class TabWords(NamedTuple):
    """``one`` and ``many`` of what is listed; ``about`` says what one is, where there is none yet, and ``reading`` what is about to come."""

    one: str
    many: str
    icon: str
    about: str
    reading: str


class SetTab(QWidget):
    """Base. ``job`` is what works on one of ``found`` in this window, ``detail`` what shows one."""

    words: ClassVar[TabWords]

    def __init__(self, context: AppContext, found: FoundList[Any, Any], job: FolderJob, detail: QWidget) -> None:
        super().__init__()
        self._context, self._found, self._job, self._detail = context, found, job, detail
        words = self.words
        self._new_text = f"New {words.one} …"
        self._wrong = WRONG_SETUP.format(words.one)
        self.rows = SetList(words.many.capitalize())
        self.new = button(self._new_text, "plus", "primary", clicked=lambda: self.open_new(""))
        self.reason = label("", "help", wrap=True)
        self.empty = EmptyState(words.icon, f"Reading the {words.many} …", words.reading)
        self._timer = QTimer(self, interval=_LOOK)
        self._lay_out()
        self.rows.chosen.connect(self._show_chosen)
        self.empty.action_triggered.connect(lambda: self.open_new(""))
        found.changed.connect(self._show)
        job.changed.connect(self._on_work)
        context.start_problem_changed.connect(self._update)
        context.draft.problems_changed.connect(self._update)
        self._timer.timeout.connect(self._look)

    def open_new(self, wanted: str) -> None:
        """Ask for a new one, of a kind where one is ``wanted``."""
        raise NotImplementedError

    def _row_of(self, found: Any) -> SetRow:
        """How it is listed."""
        raise NotImplementedError

    def _show_one(self, found: Any) -> None:
        """Show it beside the list, as it is now."""
        raise NotImplementedError

    def _lay_out(self) -> None:
        margins = (SPACING.l, SPACING.l, 0, SPACING.l)
        side = in_widget(vbox(hbox((self.new, 1)), self.reason, (self.rows, 1), spacing=SPACING.s, margins=margins))
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._split.setHandleWidth(SPACING.s)
        for part in (side, self._detail):
            self._split.addWidget(part)
        self._split.setChildrenCollapsible(False)
        self._split.setStretchFactor(1, 1)
        self._sizes = KeptSizes(self._split, self._context.settings, self.words.many)
        self._stack = QStackedLayout()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._split)
        self.room = vbox((self._stack, 1), parent=self)

    # ------------------------------------------------------------------------------------------- showing

    @Slot()
    def _show(self) -> None:
        if self._found.problem:
            self.empty.set_content("warning", f"The {self.words.many} cannot be listed", self._found.problem)
        elif self._found.loaded:
            self._say_nothing()
        self._stack.setCurrentWidget(self._split if self._found.items else self.empty)
        self._show_rows()
        self._update()

    def _say_nothing(self) -> None:
        """There are none yet."""
        self.empty.set_content(self.words.icon, f"No {self.words.many} yet", self.words.about, self._new_text, "plus")

    def _show_rows(self) -> None:
        self.rows.show_rows([self._row_of(each) for each in self._found.items])

    @Slot()
    def _show_chosen(self) -> None:
        chosen = self._found.find(self.rows.current())
        if chosen is not None:
            self._show_one(chosen)

    @Slot()
    def _update(self) -> None:
        """Whether one of the draft can be asked for now."""
        wrong = "" if self._context.draft.config() is not None else self._wrong
        for part in (self.new, self.empty.button):
            part.setEnabled(not wrong)
            part.setToolTip(wrong or "Of what Setup holds now")
        problem = self._found.problem
        said = f"What is listed here may be old: {problem}" if problem else wrong
        self.reason.setText(make_breakable(said))
        self.reason.setVisible(bool(said))
        self._show_chosen()

    @Slot()
    def _on_work(self) -> None:
        if self.isVisible():
            self._found.refresh()
            self._show_rows()
            self._show_chosen()

    @Slot()
    def _look(self) -> None:
        if any(each.state == "working" for each in self._found.items) and not self._job.is_busy:
            self._found.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = self.width()
        side = next(iter(self._sizes.find()), min(max(round(width * _SHARE), _LEAST_LIST), _MOST_LIST))
        self._split.setSizes([side, max(width - side, 1)])

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._found.refresh()
        self._show_chosen()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()
