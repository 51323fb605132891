"""The soft boxes a page is made of, and how a page scrolls."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QWidget

from studio.theme import SPACING, icon
from studio.widgets.buttons import icon_button
from studio.widgets.labels import IconLabel, label
from studio.widgets.layouts import STRETCH, Part, fill, hbox, vbox


def scroll_area(widget: QWidget, name: str, area: QScrollArea | None = None) -> QScrollArea:
    """Let a page be taller than the window. It scrolls sideways only where the window is narrower than the page can be.
    ``name`` is what a screen reader calls it. ``area``: one of a class of its own, instead of a plain one."""
    area = area or QScrollArea()
    area.setAccessibleName(name)
    area.setWidget(widget)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.viewport().setAutoFillBackground(False)
    return area


class Card(QFrame):
    """A titled box. Put content into `body` or with `add`; `add_action` puts small things right of the title."""

    def __init__(self, title: str = "", icon_name: str = "", *, subtitle: str = "", collapsible: bool = False) -> None:
        super().__init__()
        self._collapsed = False
        self._title = label(title, "section")
        self._subtitle = label(subtitle, "help", wrap=True)
        self._image = IconLabel(icon_name, 18)
        if not icon_name:  # setVisible(True) would show a widget without a parent as a window of its own, for a blink
            self._image.hide()
        self._actions = QHBoxLayout()
        self._actions.setSpacing(SPACING.xs)
        self._fold = icon_button("chevron-down", "Fold or unfold")
        self._fold.clicked.connect(lambda: self.set_collapsed(not self._collapsed))
        if not collapsible:
            self._fold.hide()
        self._header = QWidget()
        self._lay_out_header()
        self._content = QWidget()
        self.body = vbox(parent=self._content, spacing=SPACING.m)
        vbox(
            self._header,
            (self._content, 1),
            parent=self,
            spacing=SPACING.m,
            margins=(SPACING.l, SPACING.m + 2, SPACING.l, SPACING.l),
        )
        if collapsible:
            self._header.setCursor(Qt.CursorShape.PointingHandCursor)
        self.set_title(title)
        self.set_subtitle(subtitle)

    def add(self, *parts: Part) -> None:
        """Append widgets and layouts to the body."""
        fill(self.body, *parts)

    def add_action(self, *widgets: QWidget) -> None:
        """Put buttons, pills or switches at the right of the title."""
        fill(self._actions, *widgets)
        self._update_header()

    def set_title(self, title: str) -> None:
        """Change the title; "" removes it."""
        self._title.setText(title)
        self._title.setVisible(bool(title))
        self.setAccessibleName(title)
        self._say_what_folds()
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
        self._say_what_folds()

    def _say_what_folds(self) -> None:
        """Several cards of a page have one."""
        self._fold.setAccessibleName(f"{'Unfold' if self._collapsed else 'Fold'} {self._title.text()}")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        # The whole header folds, not only the small arrow.
        if not self._fold.isHidden() and self._header.geometry().contains(event.position().toPoint()):
            self.set_collapsed(not self._collapsed)
        else:
            super().mousePressEvent(event)

    def _lay_out_header(self) -> None:
        row = hbox(self._image, self._title, STRETCH, self._actions, self._fold)
        vbox(row, self._subtitle, parent=self._header, spacing=2)

    def _update_header(self) -> None:
        self._header.setVisible(bool(self._title.text()) or self._actions.count() > 0)
