"""The mistakes that are made most often, for where a matrix of hundreds of classes says too much at once."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from studio.state.evaluations.confusions import Mistake
from studio.state.formats import format_percent
from studio.widgets import dress_table

MOST = 50
_ROW_HEIGHT = 26
_TITLES = ("True", "Predicted as", "Samples", "Of the class")


class MistakesTable(QTableView):
    """Signals: `mistake_chosen(Mistake)` when a row is clicked, or Enter pressed in it."""

    mistake_chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._model = QStandardItemModel(0, len(_TITLES), self)
        self._mistakes: Sequence[Mistake] = ()
        self._model.setHorizontalHeaderLabels(_TITLES)
        self.setModel(self._model)
        dress_table(self, "Most frequent mistakes", _ROW_HEIGHT)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        for column in (2, 3):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        self.setMinimumHeight(120)
        self.clicked.connect(self._choose)
        self.activated.connect(self._choose)

    def show_mistakes(self, names: Sequence[str], mistakes: Sequence[Mistake]) -> None:
        """Show others."""
        self._mistakes = mistakes
        self._model.setRowCount(len(mistakes))
        for row, mistake in enumerate(mistakes):
            words = (
                names[mistake.true],
                names[mistake.predicted],
                f"{mistake.samples:,}",
                format_percent(mistake.share),
            )
            for column, text in enumerate(words):
                item = QStandardItem(text)
                item.setToolTip(text)
                if column > 1:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self._model.setItem(row, column, item)

    def _choose(self, index: QModelIndex) -> None:
        if 0 <= index.row() < len(self._mistakes):
            self.mistake_chosen.emit(self._mistakes[index.row()])
