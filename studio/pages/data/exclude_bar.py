"""What is listed and selected of the data, and the button that puts it on the exclude list or takes it off."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from studio.panels.data.part_words import PARTS
from studio.theme import SPACING
from studio.widgets import ComboBox, Stretch, button, hbox, label
from training.protocol.answers import DatasetReport

EXCLUDED = "excluded"
"""The part that an exclude list leaves out."""
_FULL = 1000  # against 1: a sentence has all the room


def add_parts(box: ComboBox, report: DatasetReport) -> None:
    """Offer the parts of the data with their numbers of samples, behind what is in ``box``, and what is on the exclude list."""
    for part, count in report.samples.items():
        box.addItem(f"{PARTS.get(part, part).capitalize()} ({count:,})", part)
    if report.excluded:
        box.addItem(f"Excluded ({len(report.excluded):,})", EXCLUDED)


class ExcludeBar(QWidget):
    """``list_selected`` gives the numbers of what is selected of ``what`` (a noun).

    Signals: `exclude_asked(list[int])` with those, `include_asked(list[int])` where they are on the list.
    """

    exclude_asked, include_asked = Signal(list), Signal(list)

    def __init__(self, what: str, list_selected: Callable[[], list[int]] = list) -> None:
        super().__init__()
        self._what, self._list_selected = what, list_selected
        self._part, self._why_not = "", ""
        self.told = label("", "caption")
        self.button = button("Exclude", "minus", clicked=self.ask)
        self.why = label("", "help", wrap=True)
        self.why.hide()
        hbox(self.told, (self.why, _FULL), Stretch(1), self.button, parent=self, spacing=SPACING.m)
        self.follow("", 0, "")

    @property
    def words(self) -> str:
        """What the button does to a sample; "" where the data has no exclude list."""
        return "" if self._why_not else "Include again" if self._part == EXCLUDED else "Exclude"

    def forbid(self, why: str) -> None:
        """This data has no exclude list, because of ``why``, a clause; "": it has one."""
        self._why_not = why
        self.why.setText(f"This data has no exclude list: {why}." if why else "")
        self.why.setVisible(bool(why))
        self.button.setEnabled(self.button.isEnabled() and not why)

    def follow(self, words: str, selected: int, part: str) -> None:
        """``words`` tell how many samples of ``part`` are listed; ``selected`` are to be put on the list, or taken off it."""
        self._part = part
        self.told.setText(f"{words}, {selected:,} selected" if selected else words)
        self.told.setVisible(bool(words))  # or a sentence beside it would not begin at the edge
        on_list = part == EXCLUDED
        self.button.setText("Include again" if on_list else "Exclude")
        how = "Take what is selected off the exclude list" if on_list else "Put what is selected on the exclude list"
        pick = "" if selected else f"; select {self._what}s first, several with Ctrl or Shift"
        self.button.setToolTip(f"{how} (Del){pick}")
        self.button.setEnabled(bool(selected) and not self._why_not)

    def listen_to(self, view: QWidget) -> None:
        """Delete does what the button does while ``view`` has the keyboard."""
        delete = QShortcut(QKeySequence(Qt.Key.Key_Delete), view, context=Qt.ShortcutContext.WidgetShortcut)
        delete.activated.connect(self.ask)

    @Slot()
    def ask(self) -> None:
        """Do it to what is selected."""
        self.send(self._list_selected())

    def send(self, numbers: list[int]) -> None:
        """Do it to the samples of these numbers."""
        if numbers and not self._why_not:
            (self.include_asked if self._part == EXCLUDED else self.exclude_asked).emit(numbers)
