"""Which of many samples are answered: pages, all answers into a file, and how far that is."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from studio.theme import SPACING
from studio.widgets import ElidedLabel, ProgressLine, button, hbox, icon_button, vbox


class FileBar(QWidget):
    """Signals: ``turned(by)`` to the next page (1) or the previous one (-1), ``save_wanted()``, ``canceled()``."""

    turned = Signal(int)
    save_wanted = Signal()
    canceled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.previous = icon_button("chevron-left", "Previous samples", clicked=lambda: self.turned.emit(-1))
        self.following = icon_button("chevron-right", "Next samples", clicked=lambda: self.turned.emit(1))
        self.range = ElidedLabel("", Qt.TextElideMode.ElideRight)
        self.save = button(
            "Save all …",
            "save",
            tooltip="Ask about all of the samples, and write the answers to a table",
            clicked=self.save_wanted,
        )
        self.cancel = button("Cancel", "stop", clicked=self.canceled)
        self.progress = ProgressLine()
        row = hbox(self.previous, self.following, (self.range, 1), self.save, self.cancel, spacing=SPACING.xs)
        vbox(row, self.progress, parent=self, spacing=SPACING.s)
        self.hide()

    def show_pages(self, first: int, last: int, total: int) -> None:
        """The samples from ``first`` to before ``last`` of ``total`` are answered."""
        self.show()
        words = f"{first + 1:,} to {last:,} of {total:,}" if last > first else "nothing"
        self.range.setText(words)
        self.previous.setVisible(first > 0 or last < total)
        self.following.setVisible(first > 0 or last < total)
        self.previous.setEnabled(first > 0)
        self.following.setEnabled(last < total)
        self.save.setEnabled(last > first)
        self._show_work(False)

    def show_work(self, text: str, fraction: float | None) -> None:
        """The model is being asked, and that can be canceled."""
        self.show()
        self._show_work(True)
        for each in (self.previous, self.following, self.save):
            each.setEnabled(False)
        self.progress.set_progress(fraction, text)

    def _show_work(self, works: bool) -> None:
        self.cancel.setVisible(works)
        self.progress.setVisible(works)
        self.save.setVisible(not works)
