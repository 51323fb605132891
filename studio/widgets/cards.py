"""The soft boxes a page is made of, and how a page scrolls."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLayout, QScrollArea, QVBoxLayout, QWidget

from studio.theme import SPACING, icon
from studio.widgets.buttons import icon_button
from studio.widgets.labels import IconLabel, label


def scroll_area(widget: QWidget) -> QScrollArea:
    """Let a page be taller than the window. It scrolls sideways only where the window is narrower than the page can be."""
    area = QScrollArea()
    area.setWidget(widget)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.viewport().setAutoFillBackground(False)
    return area


class Card(QFrame):
    """A titled box. Put content into `body` or with `add`; `add_action` puts small things right of the title.

    Signals: `collapsed_changed(bool)` when the person (or `set_collapsed`) folds it.
    """

    collapsed_changed = Signal(bool)

    def __init__(
        self,
        title: str = "",
        icon_name: str = "",
        *,
        subtitle: str = "",
        collapsible: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._collapsed = False
        self._title = label(title, "section")
        self._subtitle = label(subtitle, "help", wrap=True)
        self._picture = IconLabel(icon_name, 18)
        if not icon_name:  # setVisible(True) would show a widget without a parent as a window of its own, for a blink
            self._picture.hide()
        self._actions = QHBoxLayout()
        self._actions.setSpacing(SPACING.xs)
        self._fold = icon_button("chevron-down", "Fold or unfold")
        self._fold.clicked.connect(lambda: self.set_collapsed(not self._collapsed))
        if not collapsible:
            self._fold.hide()
        self._header = QWidget()
        self._lay_out_header()
        self._content = QWidget()
        self.body = QVBoxLayout(self._content)
        self.body.setContentsMargins(0, 0, 0, 0)
        self.body.setSpacing(SPACING.m)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACING.l, SPACING.m + 2, SPACING.l, SPACING.l)
        column.setSpacing(SPACING.m)
        column.addWidget(self._header)
        column.addWidget(self._content, 1)
        if collapsible:
            self._header.setCursor(Qt.CursorShape.PointingHandCursor)
        self.set_title(title)
        self.set_subtitle(subtitle)

    def add(self, item: QWidget | QLayout, stretch: int = 0) -> None:
        """Append a widget or a layout to the body."""
        if isinstance(item, QLayout):
            self.body.addLayout(item, stretch)
        else:
            self.body.addWidget(item, stretch)

    def add_action(self, widget: QWidget) -> None:
        """Put a button, pill or switch at the right of the title."""
        self._actions.addWidget(widget)
        self._update_header()

    def set_title(self, title: str) -> None:
        """Change the title; "" removes it."""
        self._title.setText(title)
        self._title.setVisible(bool(title))
        self.setAccessibleName(title)
        self._update_header()

    def set_subtitle(self, subtitle: str) -> None:
        """Change the sentence under the title; "" removes it."""
        self._subtitle.setText(subtitle)
        self._subtitle.setVisible(bool(subtitle))

    def set_collapsed(self, collapsed: bool) -> None:
        """Show only the header, or all of it."""
        if collapsed == self._collapsed:
            return
        self._collapsed = collapsed
        self._content.setVisible(not collapsed)
        self._fold.setIcon(icon("chevron-right" if collapsed else "chevron-down", "muted"))
        self.collapsed_changed.emit(collapsed)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        # The whole header folds, not only the small arrow.
        if not self._fold.isHidden() and self._header.geometry().contains(event.position().toPoint()):
            self.set_collapsed(not self._collapsed)
        else:
            super().mousePressEvent(event)

    def _lay_out_header(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(SPACING.s)
        row.addWidget(self._picture)
        row.addWidget(self._title)
        row.addStretch(1)
        row.addLayout(self._actions)
        row.addWidget(self._fold)
        column = QVBoxLayout(self._header)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(row)
        column.addWidget(self._subtitle)

    def _update_header(self) -> None:
        self._header.setVisible(bool(self._title.text()) or self._actions.count() > 0)
