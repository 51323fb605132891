"""The list of studies, and that of sweeps: what each is called and how it stands, over two lines that tell more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QAbstractListModel, QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem

from studio.panels.delegates import paint_pill
from studio.theme import RADIUS, SPACING, Tone, font, theme
from studio.widgets import wrap_tooltip
from studio.widgets.tables import NO_PARENT, AnyIndex

_ROW = Qt.ItemDataRole.UserRole
_PAD = SPACING.m


class SetRow(NamedTuple):
    """One of the list. ``state`` is shown as a pill; ``about`` and ``said`` are the two lines."""

    id: str
    title: str
    state: str
    tone: Tone
    about: str
    said: str


class _Rows(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.rows: tuple[SetRow, ...] = ()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{row.title}, {row.state}. {row.about}. {row.said}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return wrap_tooltip("\n".join(filter(None, (row.about, row.said, row.id))))
        return row if role == _ROW else None


class _Delegate(QStyledItemDelegate):
    """Three lines, each cut at its end where it is too long."""

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        heights = [QFontMetricsF(font(role)).height() for role in ("section", "caption", "caption")]
        return QSize(200, round(sum(heights)) + 2 * _PAD + 6)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row: SetRow = index.data(_ROW)
        palette, box = theme().palette, QRectF(option.rect).adjusted(2, 1, -2, -1)
        chosen = bool(option.state & option.state.State_Selected)
        hovered = bool(option.state & option.state.State_MouseOver)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen or hovered:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.selection if chosen else palette.hover))
            painter.drawRoundedRect(box, RADIUS.medium, RADIUS.medium)
        inner = box.adjusted(_PAD, _PAD, -_PAD, -_PAD)
        face = font("caption")
        face.setWeight(face.Weight.Medium)
        pill = QFontMetricsF(face).horizontalAdvance(row.state) + 16
        top = inner.top()
        painter.setFont(font("section"))
        metrics = QFontMetricsF(painter.font())
        line = QRectF(inner.left(), top, inner.width() - pill - SPACING.s, metrics.height())
        painter.setPen(QColor(palette.text))
        painter.drawText(line, metrics.elidedText(row.title, Qt.TextElideMode.ElideRight, line.width()))
        paint_pill(painter, QPointF(inner.right() - pill, line.center().y()), row.state, row.tone)
        top = line.bottom() + 3
        painter.setFont(font("caption"))
        metrics = QFontMetricsF(painter.font())
        painter.setPen(QColor(palette.muted))
        for text in (row.about, row.said):
            line = QRectF(inner.left(), top, inner.width(), metrics.height())
            painter.drawText(line, metrics.elidedText(text, Qt.TextElideMode.ElideRight, line.width()))
            top = line.bottom() + 3
        painter.restore()


class SetList(QListView):
    """``name`` is what a screen reader calls it. Signals: `chosen(str)` another one is to be shown, by its id."""

    chosen = Signal(str)

    def __init__(self, name: str) -> None:
        super().__init__()
        self._model = _Rows(self)
        self.setModel(self._model)
        self.setItemDelegate(_Delegate(self))
        self.setAccessibleName(name)
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setMinimumWidth(220)
        self.selectionModel().currentChanged.connect(self._on_current)
        self._current = ""

    def show_rows(self, rows: Sequence[SetRow]) -> None:
        """Have these; the one that was chosen stays so, or the first is."""
        before, self._model.rows = self._model.rows, tuple(rows)
        if [row.id for row in before] == [row.id for row in rows]:
            if before != self._model.rows:
                self._model.dataChanged.emit(self._model.index(0), self._model.index(len(rows) - 1))
            return
        wanted = self._current
        self._model.beginResetModel()
        self._model.endResetModel()
        if rows:
            self.setCurrentIndex(self._model.index(self._find(wanted) or 0))

    def choose(self, wanted: str) -> None:
        """Select the one of that id, now or once it is listed."""
        self._current = wanted
        row = self._find(wanted)
        if row is not None:
            self.setCurrentIndex(self._model.index(row))

    def current(self) -> str:
        """The id of the one that is selected; "" for none."""
        row: SetRow | None = self.currentIndex().data(_ROW)
        return row.id if row is not None else ""

    def _find(self, wanted: str) -> int | None:
        return next((at for at, row in enumerate(self._model.rows) if row.id == wanted), None)

    def _on_current(self) -> None:
        if current := self.current():
            self._current = current
            self.chosen.emit(current)
