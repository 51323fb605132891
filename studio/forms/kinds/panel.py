"""The panel of cards from which a kind is chosen: by the mouse, by arrow keys, or by typing a word of it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from studio.forms.kinds.card import KindCard
from studio.forms.kinds.choices import KindChoice, KindGroup
from studio.state.search import holds, split_query
from studio.theme import SPACING
from studio.widgets import SearchLine, hbox, in_widget, label, scroll_area, vbox

_COLUMN = 300  # pixels wide, where the window has the room
_EDGE = SPACING.m  # kept free between the panel and the window's edge
_STEPS = {
    Qt.Key.Key_Up: QPoint(0, -1),
    Qt.Key.Key_Down: QPoint(0, 1),
    Qt.Key.Key_Left: QPoint(-1, 0),
    Qt.Key.Key_Right: QPoint(1, 0),
}


class KindPanel(QFrame):
    """Opens beside the card of what is chosen, closes with the choice, Escape or a click elsewhere, and is gone then.

    Signals: `chosen(kind)`.
    """

    chosen = Signal(str)

    def __init__(self, parent: QWidget, title: str, groups: Sequence[KindGroup], current: str) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName(title)
        self.cards: list[KindCard] = []
        self._current = current
        self._headings: list[tuple[QLabel, list[KindCard]]] = []
        self.search = SearchLine(f"Find: {title.lower()}")
        self.search.textChanged.connect(self._find)
        self.search.installEventFilter(self)
        self.nothing = label("", "help", wrap=True)
        self.nothing.hide()
        self._columns = 1 + max(group.column for group in groups)
        columns = [self._make_column([group for group in groups if group.column == at]) for at in range(self._columns)]
        self._body = in_widget(hbox(*((column, 1) for column in columns), spacing=SPACING.m))
        self._area = scroll_area(self._body, "Kinds to choose from")
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        vbox(self.search, self.nothing, (self._area, 1), parent=self, margins=SPACING.m)
        self._find("")

    def open_beside(self, widget: QWidget) -> None:
        """Show it below ``widget``, or over it where there is no room below, within the window."""
        self._place(widget, widget.window().geometry())
        self.search.setFocus()  # before it is shown, which would give it to the first part
        self.show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Down goes from the line to the cards, Enter takes the one that is marked."""
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return False
        aimed = self._find_aimed()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if aimed is not None:
                aimed.click()
            return True
        if event.key() == Qt.Key.Key_Down:
            if aimed is not None:
                aimed.setFocus(Qt.FocusReason.TabFocusReason)
            return True
        return False

    # ------------------------------------------------------------------------------------------ building

    def _make_column(self, groups: Sequence[KindGroup]) -> QWidget:
        column = vbox(spacing=SPACING.xs)
        for number, group in enumerate(groups):
            heading = label(group.title, "section", wrap=True)
            heading.setContentsMargins(SPACING.xs, SPACING.xs if number else 0, 0, 0)
            cards = [self._make_card(choice) for choice in group.choices]
            self._headings.append((heading, cards))
            for part in (heading, *cards):
                column.addWidget(part)
        column.addStretch(1)
        return in_widget(column)

    def _make_card(self, choice: KindChoice) -> KindCard:
        card = KindCard()
        card.set_choice(choice)
        card.clicked.connect(lambda: self._choose(choice.kind))
        card.arrow_pressed.connect(lambda key: self._move(card, key))
        self.cards.append(card)
        return card

    # -------------------------------------------------------------------------------------------- acting

    def _choose(self, kind: str) -> None:
        self.close()
        self.chosen.emit(kind)

    def _find(self, text: str) -> None:
        words = split_query(text)
        for heading, cards in self._headings:
            for card in cards:
                choice = card.choice
                told = f"{choice.title} {choice.line} {choice.words} {heading.text()}"
                card.setHidden(not holds(told, words))
            heading.setHidden(all(card.isHidden() for card in cards))
        none = all(card.isHidden() for card in self.cards)
        self.nothing.setText(f"Nothing here is called “{text.strip()}”." if none else "")
        self.nothing.setVisible(none)
        aimed = self._find_aimed()
        for card in self.cards:
            chosen = card.choice.kind == self._current
            card.set_marked("current" if chosen else "aimed" if words and card is aimed else "")

    def _find_aimed(self) -> KindCard | None:
        """The card that Enter takes: what is chosen already, but the first found once something is looked for."""
        usable = [card for card in self.cards if not card.isHidden() and card.isEnabled()]
        chosen = [card for card in usable if card.choice.kind == self._current and not self.search.text().strip()]
        return next(iter([*chosen, *usable]), None)

    def _move(self, card: KindCard, key: Qt.Key) -> None:
        """The keyboard goes to the next card in that direction; from the topmost upwards to the line."""
        step = _STEPS[key]
        here = QRect(card.mapTo(self._body, QPoint(0, 0)), card.size())

        def find_distance(other: KindCard) -> int:
            there = QRect(other.mapTo(self._body, QPoint(0, 0)), other.size()).center() - here.center()
            ahead = QPoint.dotProduct(there, step)
            aside = abs(there.x() * step.y()) + abs(there.y() * step.x())
            return ahead + 3 * aside if ahead > 0 and (not step.y() or aside < card.width() // 2) else -1

        others = [(find_distance(each), each) for each in self.cards if each.isEnabled() and not each.isHidden()]
        ahead = [(distance, each) for distance, each in others if distance > 0]
        if ahead:
            nearest = min(ahead, key=lambda found: found[0])[1]
            nearest.setFocus(Qt.FocusReason.TabFocusReason)
            self._area.ensureWidgetVisible(nearest, 0, SPACING.s)
        elif key == Qt.Key.Key_Up:
            self.search.setFocus()

    def _place(self, widget: QWidget, window: QRect) -> None:
        """As large as the cards need, within ``window``."""
        room = window.adjusted(_EDGE, _EDGE, -_EDGE, -_EDGE)
        edges = 2 * SPACING.m + 2
        width = min(self._columns * (_COLUMN + SPACING.m) + edges, room.width())
        body = self._body.heightForWidth(width - edges)
        height = body + self.search.sizeHint().height() + SPACING.s + edges
        if height > room.height():  # the bar takes from the width of the cards
            height = room.height()
        self.resize(width, height)
        below = widget.mapToGlobal(QPoint(0, widget.height() + 2))
        left = min(max(below.x(), room.left()), room.right() - width)
        self.move(left, min(max(below.y(), room.top()), room.bottom() - height))
