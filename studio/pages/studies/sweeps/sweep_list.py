"""The list of sweeps: name and state, what is varied, how far it is and the best value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QAbstractListModel, QItemSelectionModel, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from studio.state.sweeps.sweep_library import KnownSweep
from studio.theme import RADIUS, Tone, font, theme
from studio.widgets.tables import NO_PARENT, AnyIndex

_PAD = 10


class Standing(NamedTuple):
    """How a sweep stands, in a word, with its color."""

    word: str
    tone: Tone


class _Sweeps(QAbstractListModel):
    def __init__(self, stand: Callable[[KnownSweep], Standing]) -> None:
        super().__init__()
        self.sweeps: tuple[KnownSweep, ...] = ()
        self._stand = stand

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.sweeps)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        each = self.sweeps[index.row()]
        standing = self._stand(each)
        if role == Qt.ItemDataRole.DisplayRole:
            return each.sweep.name
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{each.sweep.id}\n{each.varied}"
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{each.sweep.name}, {standing.word}, {each.varied}, {each.count}, best {each.best or 'none'}"
        return (each, standing) if role == Qt.ItemDataRole.UserRole else None


class _Delegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        body, small = QFontMetrics(font("body")), QFontMetrics(font("caption"))
        return QSize(180, body.height() + 2 * small.height() + 2 * _PAD + 6)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        each, standing = index.data(Qt.ItemDataRole.UserRole)
        palette = theme().palette
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver):
            chosen = bool(option.state & QStyle.StateFlag.State_Selected)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.accent_soft if chosen else palette.hover))
            painter.drawRoundedRect(option.rect.adjusted(1, 1, -1, -1), RADIUS.medium, RADIUS.medium)
        room = QRectF(option.rect).adjusted(_PAD, _PAD, -_PAD, -_PAD)
        small = QFontMetrics(font("caption"))
        painter.setFont(font("caption"))
        painter.setPen(QColor(palette.muted if standing.tone == "neutral" else palette.tone(standing.tone)))
        wide = small.horizontalAdvance(standing.word) + 2
        right = QRectF(room.right() - wide, room.top(), wide, small.height() + 3)
        painter.drawText(right, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, standing.word)
        painter.setFont(font("body"))
        painter.setPen(QColor(palette.text))
        high = painter.fontMetrics().height()
        name = painter.fontMetrics().elidedText(
            each.sweep.name, Qt.TextElideMode.ElideRight, int(room.width() - wide - _PAD)
        )
        painter.drawText(QRectF(room.left(), room.top(), room.width() - wide, high), 0, name)
        painter.setFont(font("caption"))
        painter.setPen(QColor(palette.muted))
        best = f" · {each.best}" if each.best else ""
        for line, text in enumerate((each.varied, each.problem or f"{each.count}{best}")):
            shown = small.elidedText(text, Qt.TextElideMode.ElideRight, int(room.width()))
            top = room.top() + high + 3 + line * (small.height() + 2)
            painter.drawText(QRectF(room.left(), top, room.width(), small.height() + 2), 0, shown)
        painter.restore()


class SweepList(QListView):
    """Signals: `chosen(Path)`, the folder of a sweep."""

    chosen = Signal(object)

    def __init__(self, stand: Callable[[KnownSweep], Standing]) -> None:
        super().__init__()
        self._sweeps = _Sweeps(stand)
        self.setModel(self._sweeps)
        self.setItemDelegate(_Delegate(self))
        self.setAccessibleName("Sweeps")
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.selectionModel().currentChanged.connect(self._on_changed)

    def show_sweeps(self, sweeps: Sequence[KnownSweep], current: Path | None) -> None:
        """Have these for rows, with ``current`` chosen."""
        paths = [each.sweep.path for each in sweeps]
        if paths == [each.sweep.path for each in self._sweeps.sweeps]:
            self._sweeps.sweeps = tuple(sweeps)
            self._sweeps.dataChanged.emit(self._sweeps.index(0), self._sweeps.index(len(paths) - 1))
        else:
            self._sweeps.beginResetModel()
            self._sweeps.sweeps = tuple(sweeps)
            self._sweeps.endResetModel()
        if current in paths and self.current() != current:
            with QSignalBlocker(self.selectionModel()):
                how = QItemSelectionModel.SelectionFlag.ClearAndSelect
                self.selectionModel().setCurrentIndex(self._sweeps.index(paths.index(current)), how)
            self.viewport().update()

    def current(self) -> Path | None:
        """The folder of the one chosen."""
        row = self.currentIndex().row()
        return self._sweeps.sweeps[row].sweep.path if 0 <= row < len(self._sweeps.sweeps) else None

    def _on_changed(self) -> None:
        if (path := self.current()) is not None:
            self.chosen.emit(path)
