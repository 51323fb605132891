"""The mistakes that are made most often, for where a matrix of hundreds of classes says too much at once."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from studio.state.evaluations.confusions import Mistake
from studio.state.formats import format_percent
from studio.widgets import dress_table

AnyIndex = QModelIndex | QPersistentModelIndex
_NO_PARENT = QModelIndex()
MOST = 50
_ROW_HEIGHT = 26
_TITLES = ("True", "Predicted as", "Samples", "Of the class")
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class MistakesModel(QAbstractTableModel):
    """A row for each mistake, the most frequent first."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.mistakes: Sequence[Mistake] = ()
        self._names: Sequence[str] = ()

    def replace(self, names: Sequence[str], mistakes: Sequence[Mistake]) -> None:
        """Show others."""
        self.beginResetModel()
        self._names, self.mistakes = names, mistakes
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.mistakes)

    def columnCount(self, parent: AnyIndex = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(_TITLES)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if index.column() > 1 else _LEFT
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        mistake = self.mistakes[index.row()]
        match index.column():
            case 0:
                return self._names[mistake.true]
            case 1:
                return self._names[mistake.predicted]
            case 2:
                return f"{mistake.samples:,}"
        return format_percent(mistake.share)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section > 1 else _LEFT
        return _TITLES[section] if role == Qt.ItemDataRole.DisplayRole else None


class MistakesTable(QTableView):
    """Signals: `mistake_chosen(Mistake)` when a row is clicked, or Enter pressed in it."""

    mistake_chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._model = MistakesModel(self)
        self.setModel(self._model)
        dress_table(self, "Most frequent mistakes", _ROW_HEIGHT)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.verticalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.setMinimumHeight(150)
        self.clicked.connect(self._choose)

    def show_mistakes(self, names: Sequence[str], mistakes: Sequence[Mistake]) -> None:
        """Show others."""
        self._model.replace(names, mistakes)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._choose(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _choose(self, index: QModelIndex) -> None:
        if index.isValid():
            self.mistake_chosen.emit(self._model.mistakes[index.row()])
