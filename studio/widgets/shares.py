"""One bar cut into the parts of a whole, with a legend that names them."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFocusEvent, QHelpEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QSizePolicy, QToolTip, QWidget

from studio.theme import theme
from studio.widgets.layouts import vbox

_HEIGHT = 22
_SEAM = 1.5  # pixels between two parts, so that neighbors are told apart without their colors


@dataclass(frozen=True, slots=True)
class Share:
    """A part: its name, what it takes of the whole (0 to 1), its figures as they are shown, its color among the curves'."""

    title: str
    share: float
    figure: str
    color_index: int

    @property
    def color(self) -> str:
        """As the theme has it now."""
        return theme().palette.curve(self.color_index)


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
            painter.fillRect(QRectF(left, 0, width, _HEIGHT), QColor(share.color))
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


class ShareBar(QWidget):
    """A stacked bar over its legend. What a screen reader says is the whole of it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._strip = _Strip()
        self._legend = QLabel(textFormat=Qt.TextFormat.RichText, wordWrap=True)
        vbox(self._strip, self._legend, parent=self)
        theme().changed.connect(self._update)
        self._update()

    def shares(self) -> tuple[Share, ...]:
        """What is shown."""
        return self._strip.shares

    def set_shares(self, shares: Sequence[Share]) -> None:
        """Show other parts."""
        self._strip.shares = tuple(shares)
        self._update()

    def _update(self) -> None:
        self._legend.setText("&emsp; ".join(_entry(share) for share in self.shares()))
        described = ", ".join(f"{share.title} {share.figure}" for share in self.shares())
        self._strip.setAccessibleName(f"{self._name}: {described or 'nothing yet'}")
        self._strip.update()


def _entry(share: Share) -> str:
    """A square in the part's color, its name and its figures, on one line."""
    title, figure = (html.escape(text).replace(" ", "&nbsp;") for text in (share.title, share.figure))
    muted = theme().palette.muted
    return f'<span style="color:{share.color}">■</span>&nbsp;{title}&nbsp;&nbsp;<span style="color:{muted}">{figure}</span>'
