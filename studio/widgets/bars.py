"""Names with bars: how many samples each class has, how good each class is."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractListModel, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QListView, QSizePolicy, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from studio.theme import Tone, font, theme
from studio.widgets.tables import NO_PARENT, AnyIndex

_GAP = 10


@dataclass(frozen=True, slots=True)
class Bar:
    """One row; `text` stands at the right (default: the value). A `color` goes before the tone."""

    label: str
    value: float
    text: str = ""
    tooltip: str = ""
    tone: Tone = "accent"
    color: str = ""

    def figure(self) -> str:
        """What stands at the right."""
        return self.text or (f"{self.value:,.0f}" if self.value == int(self.value) else f"{self.value:.3g}")


class BarModel(QAbstractListModel):
    """The rows as a Qt list, and what all of them share: the largest value and the widths of the columns."""

    def __init__(self, parent: QWidget | None = None, full: float = 0.0) -> None:
        super().__init__(parent)
        self._full = full
        self.bars: tuple[Bar, ...] = ()
        self.largest = 0.0
        self.label_width = 0
        self.figure_width = 0

    def replace(self, bars: Sequence[Bar]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self.bars = tuple(bars)
        self.largest = self._full or max((bar.value for bar in self.bars), default=0.0)
        face, small = QFontMetrics(font("body")), QFontMetrics(font("caption"))
        # One more, because advances are rounded and a name that just fits would be cut.
        self.label_width = max((face.horizontalAdvance(bar.label) for bar in self.bars), default=0) + 1
        self.figure_width = max((small.horizontalAdvance(bar.figure()) for bar in self.bars), default=0)
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.bars)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        bar = self.bars[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return bar.label
        if role == Qt.ItemDataRole.ToolTipRole:
            return bar.tooltip or f"{bar.label}: {bar.figure()}"
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{bar.label}: {bar.figure()}"
        return bar if role == Qt.ItemDataRole.UserRole else None


class BarDelegate(QStyledItemDelegate):
    """Paints name, bar and figure in three columns that line up over all rows."""

    def __init__(self, model: BarModel) -> None:
        super().__init__(model)
        self._model = model

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(160, option.fontMetrics.height() + 9)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        bar: Bar = index.data(Qt.ItemDataRole.UserRole)
        palette = theme().palette
        row: QRect = option.rect.adjusted(0, 0, -4, 0)
        # A long name may take two fifths at most: the bars are what is compared.
        names = min(self._model.label_width, row.width() * 2 // 5)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(font("body"))
        painter.setPen(QColor(palette.text))
        name = painter.fontMetrics().elidedText(bar.label, Qt.TextElideMode.ElideRight, names)
        painter.drawText(row, Qt.AlignmentFlag.AlignVCenter, name)
        painter.setFont(font("caption"))
        painter.setPen(QColor(palette.muted))
        painter.drawText(row, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, bar.figure())
        left = row.left() + names + _GAP
        width = row.right() - self._model.figure_width - _GAP - left
        track = QRectF(left, row.center().y() - 2.5, max(width, 0), 6)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(palette.sunken))
        painter.drawRoundedRect(track, 3, 3)
        if bar.value > 0 and self._model.largest > 0 and width > 0:
            track.setWidth(max(6.0, width * bar.value / self._model.largest))
            tone = palette.accent if bar.tone == "accent" else palette.tone(bar.tone)
            painter.setBrush(QColor(bar.color or tone))
            painter.drawRoundedRect(track, 3, 3)
        painter.restore()


class BarList(QListView):
    """As high as its rows, up to `max_rows`, then it scrolls; a thousand classes cost no more than ten. `full` is the value whose
    bar fills its room; without it, the largest one does."""

    def __init__(self, *, max_rows: int = 8, full: float = 0.0) -> None:
        super().__init__()
        self._max_rows = max_rows
        self._model = BarModel(self, full)
        self.setModel(self._model)
        self.setItemDelegate(BarDelegate(self._model))
        self.setUniformItemSizes(True)
        self.setSelectionMode(QListView.SelectionMode.NoSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_bars(self, bars: Sequence[Bar]) -> None:
        """Show other rows."""
        self._model.replace(bars)
        self.updateGeometry()

    def find_bar(self, row: int) -> Bar:
        """What is shown in ``row``."""
        return self._model.bars[row]

    def sizeHint(self) -> QSize:
        rows = min(max(self._model.rowCount(), 1), self._max_rows)
        return QSize(240, rows * (self.fontMetrics().height() + 9) + 2 * self.frameWidth())

    def minimumSizeHint(self) -> QSize:
        return QSize(140, self.sizeHint().height())
