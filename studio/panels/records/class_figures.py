"""A table of how well each class, label or value is told."""

from __future__ import annotations

import math

from PySide6.QtCore import QAbstractTableModel, Qt
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from studio.state.formats import format_number
from studio.widgets import ALIGN_LEFT, ALIGN_RIGHT, NO_PARENT, AnyIndex, dress_table, fit_rows
from training.config.rules.metrics import is_known, metric
from training.runs.records.evaluation import Evaluation

_ROW_HEIGHT = 28
_MOST_ROWS = 15
_MEAN_OF = {"iou": "mean_iou"}  # what is reported as a mean only, and is shown alike for a single class


class ClassFigures(QAbstractTableModel):
    """A row for each name; a click on a head sorts by it, what is not known at the end."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._evaluation = Evaluation(step=0, names=())
        self._order: list[int] = []
        self._sorted_by = -1, Qt.SortOrder.AscendingOrder

    def replace(self, evaluation: Evaluation) -> None:
        """Show another evaluation, sorted as before."""
        self.beginResetModel()
        self._evaluation = evaluation
        self._order = self._arrange()
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._order)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._titles())

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if self._is_figure(index.column()) else ALIGN_LEFT
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self._text(self._order[index.row()], index.column())
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if self._is_figure(section) else ALIGN_LEFT
        return self._titles()[section] if role == Qt.ItemDataRole.DisplayRole else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sorted_by = column, order
        self.layoutAboutToBeChanged.emit()
        self._order = self._arrange()
        self.layoutChanged.emit()

    # ------------------------------------------------------------------------------------------- inside

    def _titles(self) -> list[str]:
        counted = ["Support (n)", "Most confused with"] if self._evaluation.confusion else []
        return ["Name", *(_title(name) for name in self._evaluation.each), *counted]

    def _is_figure(self, column: int) -> bool:
        return 0 < column <= len(self._evaluation.each) + bool(self._evaluation.confusion)

    def _text(self, row: int, column: int) -> str:
        if column == 0:
            return self._evaluation.names[row]
        if column <= len(self._evaluation.each):
            name = list(self._evaluation.each)[column - 1]
            value = self._evaluation.each[name][row]
            return "–" if value is None else _format(_MEAN_OF.get(name, name), value)
        if column == len(self._evaluation.each) + 1:
            return f"{self._support(row):,}"
        wrong = self._wrong(row)
        return f"{self._evaluation.names[wrong.index(max(wrong))]} ({max(wrong):,})" if any(wrong) else ""

    def _support(self, row: int) -> int:
        """How many samples (pixels) are of this class."""
        return sum(self._evaluation.confusion[row])

    def _wrong(self, row: int) -> list[int]:
        return [0 if other == row else count for other, count in enumerate(self._evaluation.confusion[row])]

    def _arrange(self) -> list[int]:
        (column, order), rows = self._sorted_by, list(range(len(self._evaluation.names)))
        if not 0 <= column < len(self._titles()):
            return rows
        falling = order == Qt.SortOrder.DescendingOrder
        if not self._is_figure(column):
            return sorted(rows, key=lambda row: self._text(row, column).lower(), reverse=falling)
        each = list(self._evaluation.each.values())
        figures = each[column - 1] if column <= len(each) else [self._support(row) for row in rows]
        known = [math.inf if figure is None else (-figure if falling else figure) for figure in figures]
        return sorted(rows, key=known.__getitem__)


class FiguresTable(QTableView):
    """Shows ``ClassFigures``, as high as its rows, up to a limit."""

    def __init__(self) -> None:
        super().__init__()
        self._model = ClassFigures(self)
        self.setModel(self._model)
        dress_table(self, "Figures of each class", _ROW_HEIGHT)
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setResizeContentsPrecision(100)
        header.setStretchLastSection(True)
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)  # in the order of the data, until a head is clicked
        self.setSortingEnabled(True)

    def show_evaluation(self, evaluation: Evaluation) -> None:
        """Show other figures."""
        self._model.replace(evaluation)
        fit_rows(self, _MOST_ROWS)


def _format(name: str, value: float) -> str:
    return metric(name).show(value) if is_known(name) else format_number(value)


def _title(name: str) -> str:
    return metric(name).title if is_known(name) else {"iou": "IoU"}.get(name, name)
