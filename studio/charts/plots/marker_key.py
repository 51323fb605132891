"""What the markers of a board mean: each mark in the color in which it is drawn, for those of findings have one shape."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent

from studio.charts.plots.markers import MARKER_WORDS, MarkerKind, find_color
from studio.theme import set_role, theme
from studio.widgets import ElidedLabel

_BETWEEN = "   "


class MarkerKey(ElidedLabel):
    """One line, shortened where there is no room."""

    def __init__(self) -> None:
        super().__init__("", Qt.TextElideMode.ElideRight)
        set_role(self, "caption")
        self._kinds: Sequence[MarkerKind] = ()

    def show_kinds(self, kinds: Sequence[MarkerKind]) -> None:
        """Name these."""
        self._kinds = tuple(kinds)
        self.setText(_BETWEEN.join(MARKER_WORDS[kind] for kind in kinds))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, place, metrics = QPainter(self), self.contentsRect(), self.fontMetrics()
        plain, shown, at = self.palette().color(self.foregroundRole()), self.elide(), 0
        for kind in self._kinds:
            mark, rest = shown[at : at + 1], len(MARKER_WORDS[kind]) + len(_BETWEEN) - 1
            for words, color in ((mark, find_color(kind, theme().palette)), (shown[at + 1 : at + 1 + rest], plain)):
                painter.setPen(color)
                painter.drawText(place, self.alignment(), words)
                place.setLeft(place.left() + metrics.horizontalAdvance(words))
            at += 1 + rest
