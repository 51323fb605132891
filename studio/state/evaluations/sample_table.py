"""The chosen samples of an evaluation as a Qt table: only the rows in sight are ever put into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Slot

from studio.state.evaluations.sample_order import FIRST, orders_of, sort_samples
from studio.state.evaluations.selection import Selection
from training.predictions.sample_columns import SampleColumn, describe_samples
from training.system.plain_table import Table

AnyIndex = QModelIndex | QPersistentModelIndex
_NO_PARENT = QModelIndex()
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_AT_ONCE = 10_000
"""Rows that are put into words before they are written."""


class SampleTable(QAbstractTableModel):
    """``rows`` are rows of the evaluation, in the order in which they are listed: the one that was asked for last, where these samples have it."""

    def __init__(self, selection: Selection, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.order = self._asked = FIRST
        self.rows: NDArray[np.int64] = np.zeros(0, np.int64)
        self.columns: list[SampleColumn] = []
        self._selection = selection
        self._sorted: dict[str, NDArray[np.int64]] = {}  # all samples, by the orders that were asked for
        selection.evaluation_changed.connect(self._take_evaluation)
        selection.changed.connect(self._follow)
        self._take_evaluation()
        self._follow()

    def set_order(self, key: str) -> None:
        """List the samples in another order, the key of one of ``orders_of``."""
        self._asked = key
        if key != self.order:
            self.order = key
            self._follow()

    def find_place(self, row: int) -> int | None:
        """Where the sample in ``row`` of the evaluation is listed; None where it is not chosen."""
        found = np.flatnonzero(self.rows == row)
        return int(found[0]) if len(found) else None

    def rowCount(self, parent: AnyIndex = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: AnyIndex = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        column = self.columns[index.column()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return column.describe(int(self.rows[index.row()]))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column.measure else _LEFT
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if self.columns[section].measure else _LEFT
        return self.columns[section].title if role == Qt.ItemDataRole.DisplayRole else None

    def describe_row(self, row: int) -> str:
        """All that the table says of the sample in ``row`` of the evaluation, in one line."""
        return ", ".join(f"{column.title.lower()} {column.describe(row)}" for column in self.columns[1:])

    def tabulate(self) -> Iterator[Table]:
        """The listed samples as tables that follow each other, for other programs; as they are listed now, whenever it is read."""
        return _tabulate(self.columns, self.rows)

    @Slot()
    def _take_evaluation(self) -> None:
        evaluation = self._selection.evaluation
        self.beginResetModel()
        self.columns = describe_samples(evaluation) if evaluation is not None else []
        self.rows, self._sorted = np.zeros(0, np.int64), {}
        orders = [order.key for order in orders_of(evaluation)] if evaluation is not None else []
        if orders:
            self.order = self._asked if self._asked in orders else orders[0]
        self.endResetModel()

    @Slot()
    def _follow(self) -> None:
        evaluation = self._selection.evaluation
        if evaluation is None:
            return
        if self.order not in self._sorted:
            self._sorted[self.order] = sort_samples(evaluation, self.order)
        sorted_rows = self._sorted[self.order]
        chosen = np.zeros(len(sorted_rows), np.bool_)
        chosen[self._selection.rows] = True
        self.beginResetModel()
        self.rows = sorted_rows[chosen[sorted_rows]]
        self.endResetModel()


def _tabulate(columns: Sequence[SampleColumn], rows: NDArray[np.int64]) -> Iterator[Table]:
    for start in range(0, max(len(rows), 1), _AT_ONCE):
        numbers = rows[start : start + _AT_ONCE].tolist()
        yield {column.title: [column.value(row) for row in numbers] for column in columns}
