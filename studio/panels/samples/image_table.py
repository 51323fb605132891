"""Any number of small images in rows: only those in sight are ever made."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QAbstractTableModel, QItemSelectionModel, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStyleOptionViewItem, QTableView, QWidget

from studio.widgets import NO_PARENT, AnyIndex, Thumbnail
from studio.widgets.thumbnails import ThumbnailDelegate

_GAP = 8


class _ImageModel(QAbstractTableModel):
    """``count`` places in rows of ``across``."""

    def __init__(self, find: Callable[[int], Thumbnail], parent: QWidget, *, one_row: bool) -> None:
        super().__init__(parent)
        self._most_rows = 1 if one_row else None
        self.count = 0
        self.across = 1
        self._find = find

    def lay_out(self, count: int, across: int) -> None:
        self.beginResetModel()
        self.count, self.across = count, across
        self.endResetModel()

    def place_of(self, index: AnyIndex) -> int | None:
        place = index.row() * self.across + index.column()
        return place if index.isValid() and place < self.count else None

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        rows = -(-self.count // self.across)
        return 0 if parent.isValid() else min(rows, self._most_rows or rows)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else self.across

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        return super().flags(index) if self.place_of(index) is not None else Qt.ItemFlag.NoItemFlags

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        place = self.place_of(index)
        if place is None or role not in (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.ToolTipRole,
            Qt.ItemDataRole.UserRole,
        ):
            return None
        thumbnail = self._find(place)
        return thumbnail if role == Qt.ItemDataRole.UserRole else thumbnail.tooltip or thumbnail.caption


class _Tiles(ThumbnailDelegate):
    """Nothing is painted where the last row ends early."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        if index.data(Qt.ItemDataRole.UserRole) is not None:
            super().paint(painter, option, index)


class ImageTable(QTableView):
    """``find`` gives the image at a place. A table whose rows are lines of images: Qt asks a table only for what is in sight, and a
    list for everything. ``one_row``: only as many as stand beside each other, from the first.

    Signals: `opened(int)` when the image at a place is clicked, or Enter pressed on it.
    """

    opened = Signal(int)

    def __init__(self, find: Callable[[int], Thumbnail], name: str, *, tile: int = 84, one_row: bool = False) -> None:
        super().__init__()
        self._one_row = one_row
        self._model = _ImageModel(find, self, one_row=one_row)
        self.setModel(self._model)
        self._tiles = _Tiles(tile, self)
        self.setItemDelegate(self._tiles)
        self.setAccessibleName(name)
        self.setProperty("flat", True)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.hide()
            header.setMinimumSectionSize(8)
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.clicked.connect(self._on_clicked)

    def set_count(self, count: int) -> None:
        """Show as many images, from the first."""
        self._lay_out(count)
        self.scrollToTop()

    def set_tile(self, tile: int, *, named: bool = False) -> None:
        """Images of another size, in pixels; ``named``: with their names below. What was at the top stays there."""
        top = self._model.place_of(self.indexAt(QPoint(_GAP, _GAP)))
        current = self.find_place()
        self._tiles.tile, self._tiles.named = tile, named
        self._lay_out(self._model.count)
        if current is not None:
            self.choose(current)
        if top:
            self.scrollTo(self._model.index(top // self._model.across, 0), self.ScrollHint.PositionAtTop)

    def choose(self, place: int) -> None:
        """Make the image at ``place`` the current one, in sight."""
        index = self._model.index(*divmod(place, self._model.across))
        self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        self.scrollTo(index)

    def select_several(self) -> None:
        """Let a click with Ctrl or Shift add to what is selected instead of opening it."""
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)

    def list_selected(self) -> list[int]:
        """The places of what is selected, in order."""
        found = map(self._model.place_of, self.selectedIndexes())
        return sorted(place for place in found if place is not None)

    def find_place(self) -> int | None:
        """The current image."""
        return self._model.place_of(self.currentIndex())

    def find_visible(self) -> range:
        """The places in sight."""
        across, last = self._model.across, self.rowAt(self.viewport().height() - 1)
        rows = range(max(self.rowAt(0), 0), (last if last >= 0 else self._model.rowCount() - 1) + 1)
        return range(rows.start * across, rows.stop * across)

    def repaint_places(self, first: int, end: int) -> None:
        """Paint what lies from ``first`` to before ``end`` again, and nothing else."""
        visible = self.find_visible()
        first, end = max(first, visible.start), min(end, visible.stop)
        if first < end:
            rows, across = (first // self._model.across, (end - 1) // self._model.across), self._model.across
            top, bottom = self._model.index(rows[0], 0), self._model.index(rows[1], across - 1)
            self.viewport().update(self.visualRect(top).united(self.visualRect(bottom)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._open(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.horizontalHeader().setDefaultSectionSize(self._width())
        if self._across() != self._model.across:
            place = self.find_place()
            self._lay_out(self._model.count)
            if place is not None:
                self.choose(place)

    def _across(self) -> int:
        return max(1, self.viewport().width() // (self._tiles.tile + _GAP))

    def _width(self) -> int:
        """Of a column: all of them fill the lines."""
        return max(self._tiles.tile + _GAP, self.viewport().width() // self._across())

    def _lay_out(self, count: int) -> None:
        cell = self._tiles.cell(self.fontMetrics())
        self.horizontalHeader().setDefaultSectionSize(self._width())
        self.verticalHeader().setDefaultSectionSize(cell.height() + _GAP)
        if self._one_row:
            self.setFixedHeight(cell.height() + _GAP + 2 * self.frameWidth())
        self._model.lay_out(count, self._across())

    def _on_clicked(self, index: QModelIndex) -> None:
        held = QGuiApplication.keyboardModifiers()
        adds = held & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        if not (adds and self.selectionMode() == QAbstractItemView.SelectionMode.ExtendedSelection):
            self._open(index)

    def _open(self, index: QModelIndex) -> None:
        place = self._model.place_of(index)
        if place is not None:
            self.opened.emit(place)
