"""Why samples are chosen: a chip for each criterion, which a click takes away."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QPushButton, QWidget

from studio.state.evaluations.selection import Selection
from studio.theme import icon
from studio.widgets import FlowLayout, button

_WIDEST = 300


class SelectionBar(QWidget):
    """Follows ``selection``."""

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self._selection = selection
        self.clear = button("Select all", variant="ghost", tooltip="Look at all samples again", clicked=selection.clear)
        self._chips: list[QPushButton] = []
        self._row = FlowLayout(self)
        self._row.addWidget(self.clear)
        self.setAccessibleName("Selection")
        selection.changed.connect(self._follow)
        self._follow()

    def chips(self) -> list[QPushButton]:
        """One for each criterion, in the order in which they were chosen."""
        return self._chips

    @Slot()
    def _follow(self) -> None:
        selection = self._selection
        self.setVisible(bool(selection.criteria))
        had_keyboard = any(chip.hasFocus() for chip in self._chips)
        for chip in self._chips:
            self._row.removeWidget(chip)
            chip.hide()
            chip.deleteLater()
        self._row.removeWidget(self.clear)
        self._chips = [self._make_chip(key, each.words) for key, each in selection.criteria.items()]
        for chip in self._chips:
            self._row.addWidget(chip)
        self._row.addWidget(self.clear)
        if had_keyboard and self._chips:
            self._chips[-1].setFocus()

    def _make_chip(self, view: str, words: str) -> QPushButton:
        chip = QPushButton(self)
        chip.setText(self.fontMetrics().elidedText(words, Qt.TextElideMode.ElideMiddle, _WIDEST).replace("&", "&&"))
        chip.setIcon(icon("cross", "muted"))
        chip.setIconSize(QSize(14, 14))
        chip.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        chip.setToolTip(f"{words}\nClick to take this away")
        chip.setAccessibleName(f"Take away: {words}")
        chip.setCursor(Qt.CursorShape.PointingHandCursor)
        chip.clicked.connect(partial(self._selection.remove, view))
        chip.show()
        return chip
