"""The views of an evaluation: all of them in columns where there is room for two at least, else one at a time behind tabs."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QToolButton, QVBoxLayout, QWidget

from studio.pages.evaluate.view import View
from studio.theme import SPACING, theme
from studio.widgets import FlowLayout, empty, hbox, in_widget, scroll_area, vbox

_COLUMN = 620
"""Pixels that a view needs for its figures to be read beside another, for text of the designed size."""
_FIRST = "Metrics"


class ViewTabs(QWidget):
    """A button for each tab, in as many lines as the width asks for. Signals: `chosen(str)`: another tab is wanted."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.buttons: dict[str, QToolButton] = {}
        self._group = QButtonGroup(self)
        self._group.buttonClicked.connect(lambda made: self.chosen.emit(made.text()))
        self._row = FlowLayout(self, spacing=SPACING.xs)
        self.setAccessibleName("Views of the evaluation")

    def set_titles(self, titles: Sequence[str]) -> None:
        """Offer other tabs."""
        if list(titles) == list(self.buttons):
            return
        empty(self._row)
        self.buttons = {title: QToolButton() for title in titles}
        for title, made in self.buttons.items():
            made.setText(title)
            made.setCheckable(True)
            made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            made.setCursor(Qt.CursorShape.PointingHandCursor)
            self._group.addButton(made)
            self._row.addWidget(made)

    def mark(self, title: str) -> None:
        """Show which tab is in front."""
        if title in self.buttons:
            self.buttons[title].setChecked(True)


class ViewStage(QWidget):
    """``tabs`` are for the page to place; ``metrics`` stand above the columns, or in the first tab."""

    def __init__(self, metrics: QWidget) -> None:
        super().__init__()
        self.tabs = ViewTabs()
        self.tabs.chosen.connect(self.show_tab)
        self.tab = _FIRST  # the one in front, or the next one that will be
        self._metrics = metrics
        self._cards: Sequence[View] = ()
        self._count = 1
        self._columns: list[QVBoxLayout] = []
        self._row = hbox(spacing=SPACING.m)
        content = in_widget(vbox(metrics, (self._row, 1), spacing=SPACING.m, margins=(0, 0, SPACING.s, 0)))
        self.area = scroll_area(content, "Views of the evaluation")
        vbox(self.area, parent=self)
        self._lay_out()

    def set_cards(self, cards: Sequence[View]) -> None:
        """Show other views."""
        for card in self._cards:
            if card not in cards:
                card.hide()
        self._cards = cards
        self._lay_out()

    def show_tab(self, title: str) -> None:
        """Bring a tab to the front."""
        self.tab = title
        if self._count == 1:
            self._lay_out()
            self.area.verticalScrollBar().setValue(0)

    def reveal(self, card: View) -> None:
        """Bring a view to where it is seen."""
        self.show_tab(card.tab)
        self.area.ensureWidgetVisible(card)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        count = max(1, int(event.size().width() / (_COLUMN * max(theme().font_scale, 1.0))))
        if count != self._count:
            self._count = count
            self._lay_out()
        elif count == 1:
            self._tell_height()

    def _lay_out(self) -> None:
        while (item := self._row.takeAt(0)) is not None:
            layout = item.layout()
            while layout is not None and layout.takeAt(0) is not None:
                pass
        titles = list(dict.fromkeys([_FIRST, *(card.tab for card in self._cards)]))
        front = self.tab if self.tab in titles else _FIRST
        self.tabs.set_titles(titles)
        self.tabs.mark(front)
        is_alone = self._count == 1
        self.tabs.setVisible(is_alone and len(titles) > 1)
        self._metrics.setVisible(not is_alone or front == _FIRST)
        shown = [card for card in self._cards if not is_alone or card.tab == front]
        self._columns = [vbox(spacing=SPACING.m) for _ in range(self._count)]
        for column in self._columns:
            self._row.addLayout(column, 1)
        self._tell_height()
        heights = [0] * self._count
        for card in shown:
            at = heights.index(min(heights))  # the column that ends first: none is much longer than another
            self._columns[at].addWidget(card)
            heights[at] += card.sizeHint().height() + SPACING.m
        for column in self._columns:
            column.addStretch(1)
        for card in self._cards:  # now that each has a parent: without one it would be a window of its own, for a blink
            card.setVisible(card in shown)

    def _tell_height(self) -> None:
        height = self.area.viewport().height() if self._count == 1 else None
        for card in self._cards:
            card.set_height(height)
