"""One bar cut into the parts of a whole, with a legend that names them."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFocusEvent, QHelpEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from studio.theme import SPACING, theme
from studio.widgets.flow import FlowLayout
from studio.widgets.labels import label

_HEIGHT = 22
_SEAM = 1.5  # pixels between two parts, so that neighbours are told apart without their colours


@dataclass(frozen=True, slots=True)
class Share:
    """A part: its name, what it takes of the whole (0 to 1), its figures as they are shown, its colour among the curves'."""

    title: str
    share: float
    figure: str
    color_index: int


class _Strip(QWidget):
    """The bar itself; pointing at a part tells its figures."""

    def __init__(self) -> None:
        super().__init__()
        self.shares: tuple[Share, ...] = ()
        self.setFixedHeight(_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # to be read out, not to be operated

    def sizeHint(self) -> QSize:
        return QSize(240, _HEIGHT)

    def rooms(self) -> list[tuple[Share, float, float]]:
        """Each part with its left and right end, in pixels."""
        whole = sum(share.share for share in self.shares)
        left, found = 0.0, []
        for share in self.shares:
            right = left + self.width() * share.share / whole if whole else left
            found.append((share, left, right))
            left = right
        return found

    def paintEvent(self, event: QPaintEvent) -> None:
        palette = theme().palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(self.rect()), 5, 5)
        painter.setClipPath(outline)
        painter.fillRect(self.rect(), QColor(palette.sunken))
        for share, left, right in self.rooms():
            # Never so thin that it cannot be seen: what takes almost nothing is there all the same.
            width = max(right - left - _SEAM, 1.0)
            painter.fillRect(QRectF(left, 0, width, _HEIGHT), QColor(_color(share)))
        if self.hasFocus():
            painter.setClipping(False)
            painter.setPen(QPen(QColor(palette.accent), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 5, 5)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            x = event.pos().x()
            under = next((share for share, left, right in self.rooms() if left <= x < right), None)
            QToolTip.showText(event.globalPos(), f"{under.title}: {under.figure}" if under else "", self)
            return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()


class _Swatch(QWidget):
    """A dot in a part's colour."""

    def __init__(self, share: Share) -> None:
        super().__init__()
        self._share = share
        self.setFixedSize(10, 10)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(_color(self._share)))
        painter.drawRoundedRect(QRectF(self.rect()), 2.5, 2.5)


class ShareBar(QWidget):
    """A stacked bar over its legend. What a screen reader says is the whole of it."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._strip = _Strip()
        legend = QWidget()
        self._legend = FlowLayout(legend, SPACING.l)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACING.s)
        column.addWidget(self._strip)
        column.addWidget(legend)
        self.set_shares(())

    def shares(self) -> tuple[Share, ...]:
        """What is shown."""
        return self._strip.shares

    def set_shares(self, shares: Sequence[Share]) -> None:
        """Show other parts."""
        self._strip.shares = tuple(shares)
        while (old := self._legend.takeAt(0)) is not None:
            if (widget := old.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        for share in shares:
            self._legend.addWidget(_entry(share))
        described = ", ".join(f"{share.title} {share.figure}" for share in shares)
        self._strip.setAccessibleName(f"{self._name}: {described or 'nothing yet'}")
        self._strip.update()


def _entry(share: Share) -> QWidget:
    entry = QWidget()
    row = QHBoxLayout(entry)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(SPACING.xs + 2)
    row.addWidget(_Swatch(share))
    row.addWidget(label(share.title))
    row.addWidget(label(share.figure, "caption"))
    return entry


def _color(share: Share) -> str:
    curves = theme().palette.curves
    return curves[share.color_index % len(curves)]
