"""One of the four panels: forms at the left, what they mean at the right, or in a drawer where there is no room for both."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Slot
from PySide6.QtWidgets import QScrollArea, QWidget

from studio.forms.section_form import SectionForm
from studio.pages.setup.where_card import WhereCard
from studio.theme import SPACING, theme
from studio.widgets import STRETCH, BesideOrOver, GrowingRoom, in_widget, vbox

_SIDE_BY_SIDE = 800  # pixels; in less the preview is a drawer over the forms
_WIDEST = 640  # pixels of the forms, for text of the designed size: their editors need no more, what they mean does


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


class Panel(BesideOrOver):
    """Lays out ``cards``, most of them forms, and ``preview``; each side scrolls by itself."""

    def __init__(self, cards: Sequence[SectionForm | WhereCard], preview: QWidget) -> None:
        self.cards = tuple(cards)
        self.forms = tuple(card for card in cards if isinstance(card, SectionForm))
        self.preview = preview
        above = SPACING.l - room_above(preview)
        left = vbox(*self.cards, STRETCH, spacing=SPACING.l, margins=(SPACING.l, SPACING.l, SPACING.s, SPACING.l))
        right = vbox(preview, STRETCH, spacing=SPACING.l, margins=(SPACING.s, above, SPACING.l, SPACING.l))
        self._left_area = FittingArea(in_widget(left))
        self._left_area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # it follows what has the keyboard in it
        right_area = FittingArea(in_widget(right))
        right_area.setAccessibleName("Preview")
        GrowingRoom(right_area)
        super().__init__(self._left_area, right_area, shares=(48, 52), least=_SIDE_BY_SIDE, handle="Preview")
        theme().changed.connect(self._limit_forms)
        self._limit_forms()

    @Slot()
    def _limit_forms(self) -> None:
        """The text may have another size."""
        self._left_area.setMaximumWidth(round(_WIDEST * max(theme().font_scale, 1.0)))

    def scroll_to(self, widget: QWidget) -> None:
        """Bring a row into view."""
        self._left_area.ensureWidgetVisible(widget, 0, 80)


def room_above(preview: QWidget) -> int:
    """What a preview keeps free above its first card, so that the cards of both sides begin at one height."""
    return int(getattr(preview, "ROOM_ABOVE", 0))
