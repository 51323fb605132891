"""One of the four panels: forms at the left, what they mean at the right; below each other where there is no room."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea, QWidget

from studio.forms.section_form import SectionForm
from studio.theme import SPACING
from studio.widgets import STRETCH, hbox, in_widget, vbox

_SIDE_BY_SIDE = 800  # narrower than this the preview goes below the forms


class FittingArea(QScrollArea):
    """Scrolls up and down only, so it asks for the width its content cannot do without."""

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self._content = content
        self.setWidget(content)
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAutoFillBackground(False)
        content.installEventFilter(self)

    def minimumSizeHint(self) -> QSize:
        content = self._content.minimumSizeHint().width()
        return QSize(content + self.verticalScrollBar().sizeHint().width(), 120)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)


class Panel(QWidget):
    """Lays out ``forms`` and ``preview``; each side scrolls by itself."""

    def __init__(self, forms: Sequence[SectionForm], preview: QWidget) -> None:
        super().__init__()
        self.forms = tuple(forms)
        self.preview = preview
        above = SPACING.l - room_above(preview)
        self._left = vbox(*self.forms, STRETCH, spacing=SPACING.l, margins=(SPACING.l, SPACING.l, SPACING.s, SPACING.l))
        self._right = vbox(preview, STRETCH, spacing=SPACING.l, margins=(SPACING.s, above, SPACING.l, SPACING.l))
        self._left_area = FittingArea(in_widget(self._left))
        self._right_area = FittingArea(in_widget(self._right))
        hbox((self._left_area, 48), (self._right_area, 52), parent=self, spacing=0)
        self._wide = True

    def minimumSizeHint(self) -> QSize:
        return self._left_area.minimumSizeHint()  # narrower than both sides together: then the preview moves

    def scroll_to(self, widget: QWidget) -> None:
        """Bring a row into view."""
        self._left_area.ensureWidgetVisible(widget, 0, 80)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = event.size().width() >= _SIDE_BY_SIDE
        if wide == self._wide:
            return
        self._wide = wide
        if wide:
            self._right.insertWidget(0, self.preview)
        else:
            self._left.insertWidget(len(self.forms), self.preview)
        self._right_area.setVisible(wide)
        self._left.setContentsMargins(SPACING.l, SPACING.l, SPACING.s if wide else SPACING.l, SPACING.l)


def room_above(preview: QWidget) -> int:
    """What a preview keeps free above its first card, so that the cards of both sides begin at one height."""
    return int(getattr(preview, "ROOM_ABOVE", 0))
