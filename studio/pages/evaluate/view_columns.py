"""The views of an evaluation below each other, in as many columns as there is room for."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.theme import SPACING, theme
from studio.widgets import hbox, vbox

_COLUMN = 520
"""Pixels that a view needs for its figures to be read, for text of the designed size."""
_STRETCH = 1


class ViewColumns(QWidget):
    """``above`` takes the whole width."""

    def __init__(self, above: QWidget) -> None:
        super().__init__()
        self._cards: Sequence[QWidget] = ()
        self._columns: list[QVBoxLayout] = []
        self._row = hbox(spacing=SPACING.m)
        vbox(above, self._row, (QWidget(), _STRETCH), parent=self, spacing=SPACING.m)
        self._lay_out(1)

    def set_cards(self, cards: Sequence[QWidget]) -> None:
        """Show other views."""
        for card in self._cards:
            if card not in cards:
                card.hide()
        self._cards = cards
        self._lay_out(len(self._columns))
        for card in cards:
            card.show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        count = max(1, int(event.size().width() / (_COLUMN * max(theme().font_scale, 1.0))))
        if count != len(self._columns):
            self._lay_out(count)

    def _lay_out(self, count: int) -> None:
        while (item := self._row.takeAt(0)) is not None:
            layout = item.layout()
            while layout is not None and layout.takeAt(0) is not None:
                pass
        self._columns = [vbox(spacing=SPACING.m) for _ in range(count)]
        for column in self._columns:
            self._row.addLayout(column, 1)
        for at, card in enumerate(self._cards):
            self._columns[at % count].addWidget(card)
        for column in self._columns:
            column.addStretch(1)
