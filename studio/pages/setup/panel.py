"""One of the four panels: forms at the left, what they mean at the right, or in a drawer where there is no room for both."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Slot
from PySide6.QtWidgets import QLayout, QScrollArea, QWidget

from studio.forms.section_form import SectionForm
from studio.pages.setup.where_card import WhereCard
from studio.theme import SPACING, theme
from studio.widgets import STRETCH, BesideOrOver, GrowingRoom, vbox

_SIDE_BY_SIDE = 800  # pixels; in less the preview is a drawer over the forms
_WIDEST = 640  # pixels of the forms, for text of the designed size: their editors need no more, what they mean does


class FittingArea(QScrollArea):
    """Scrolls up and down only, so it asks for the width its content cannot do without."""

    def __init__(self) -> None:
        super().__init__()
        self._content = QWidget(self.viewport())
        self.setWidget(self._content)
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAutoFillBackground(False)
        self._content.installEventFilter(self)

    def set_content(self, layout: QLayout) -> None:
        """What scrolls."""
        self._content.setLayout(layout)

    def minimumSizeHint(self) -> QSize:
        content = self._content.minimumSizeHint().width()
        return QSize(content + self.verticalScrollBar().sizeHint().width(), 120)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)


class Panel(BesideOrOver):
    """Lays out ``cards``, most of them forms, and ``preview``; each side scrolls by itself.

    They come in last, into areas that have their place: Qt dresses everything again that gets another parent.
    """

    def __init__(self, cards: Sequence[SectionForm | WhereCard], preview: QWidget, parent: QWidget) -> None:
        self.cards = tuple(cards)
        self.forms = tuple(card for card in cards if isinstance(card, SectionForm))
        self.preview = preview
        self._left_area, right_area = FittingArea(), FittingArea()
        super().__init__(self._left_area, right_area, parent, shares=(48, 52), least=_SIDE_BY_SIDE, handle="Preview")
        self._left_area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # it follows what has the keyboard in it
        right_area.setAccessibleName("Preview")
        above = SPACING.l - room_above(preview)
        self._left_area.set_content(
            vbox(*self.cards, STRETCH, spacing=SPACING.l, margins=(SPACING.l, SPACING.l, SPACING.s, SPACING.l))
        )
        right_area.set_content(
            vbox(preview, STRETCH, spacing=SPACING.l, margins=(SPACING.s, above, SPACING.l, SPACING.l))
        )
        GrowingRoom(right_area)
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
