"""How well each class, label or value is told, with intervals; a row chooses the samples of its class."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import (
    QAbstractTableModel,
    QObject,
    Qt,
)
from PySide6.QtGui import QKeyEvent

from studio.pages.evaluate.view import View
from studio.pages.evaluate.views.figure_rows import FigureRows
from studio.state.context import AppContext
from studio.state.evaluations.per_class import PerClass, describe_figure, find_class, list_left_out, measure_classes
from studio.state.evaluations.selection import Selection
from studio.state.formats import metric_title
from studio.widgets import ALIGN_LEFT, ALIGN_RIGHT, NO_PARENT, AnyIndex, label
from training.predictions import Evaluation, EvaluationRecord
from training.system.plain_table import Table

_MOST_ROWS = 14
_AROUND = 120
_WHOLE = "Of all samples only: {}."
_WITH_CLASSES = ("class", "labels", "mask")


class ClassTable(QAbstractTableModel):
    """A row for each name; a click on a head sorts by it, what is not known at the end."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.measured = PerClass((), (), {})
        self.in_lines = False
        self.rows: list[int] = []  # which name stands where
        self._sorted_by = -1, Qt.SortOrder.AscendingOrder

    def replace(self, measured: PerClass) -> None:
        """Show other figures, sorted as before; the same columns keep their widths."""
        same = len(measured.names) == len(self.rows) and list(measured.figures) == list(self.measured.figures)
        if same:
            self.layoutAboutToBeChanged.emit()
        else:
            self.beginResetModel()
        self.measured = measured
        self.rows = self._arrange()
        if same:
            self.layoutChanged.emit()
        else:
            self.endResetModel()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else 1 + bool(self.measured.support) + len(self.measured.figures)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if index.column() else ALIGN_LEFT
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self._describe(self.rows[index.row()], index.column())
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < self.columnCount():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if section else ALIGN_LEFT
        return self._title(section) if role == Qt.ItemDataRole.DisplayRole else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sorted_by = column, order
        self.layoutAboutToBeChanged.emit()
        self.rows = self._arrange()
        self.layoutChanged.emit()

    def tabulate(self) -> Table:
        """As it is sorted, each figure with its limits."""
        measured, rows = self.measured, self.rows
        table: dict[str, list[int | float | str | None]] = {"name": [measured.names[row] for row in rows]}
        if measured.support:
            table["support"] = [measured.support[row] for row in rows]
        for name, figures in measured.figures.items():
            table[name] = [figures[row].value for row in rows]
            table[f"{name} low"] = [figures[row].low for row in rows]
            table[f"{name} high"] = [figures[row].high for row in rows]
        return table

    # ------------------------------------------------------------------------------------------- inside

    def _metric(self, column: int) -> str:
        """The metric in ``column``; "" of the name and the support."""
        at = column - 1 - bool(self.measured.support)
        return list(self.measured.figures)[at] if at >= 0 else ""

    def _title(self, column: int) -> str:
        words = metric_title(self._metric(column)) or ("Support" if column else "Class")
        return words[0].upper() + words[1:]

    def _describe(self, row: int, column: int) -> str:
        measured, name = self.measured, self._metric(column)
        if name:
            return describe_figure(name, measured.figures[name][row], in_lines=self.in_lines)
        return f"{measured.support[row]:,}" if column else measured.names[row]

    def _arrange(self) -> list[int]:
        measured, (column, order) = self.measured, self._sorted_by
        rows = list(range(len(measured.names)))
        if not 0 <= column < self.columnCount():
            return rows
        falling = order == Qt.SortOrder.DescendingOrder
        if not column:
            return sorted(rows, key=lambda row: measured.names[row].lower(), reverse=falling)
        name = self._metric(column)
        values = [each.value for each in measured.figures[name]] if name else list(measured.support)
        unknown = float("inf")
        return sorted(rows, key=lambda row: unknown if (v := values[row]) is None else -v if falling else v)


class ClassesView(View):
    """Counts what the other views chose."""

    key = "classes"
    heading = "Classes"
    tab = "Classes"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self._evaluation: Evaluation | None = None
        self.model = ClassTable(self)
        self.table = _ClassRows(self)
        self.model.modelReset.connect(self.table.fit_columns)
        self.table.horizontalHeader().setSortIndicator(
            -1, Qt.SortOrder.AscendingOrder
        )  # in the order of the data, until a head is clicked
        self.table.setSortingEnabled(True)
        self.table.row_chosen.connect(self.choose_row)
        self.words = label("", "help", wrap=True)
        self.words.hide()
        self.add(self.table, self.words)
        self.offer(None, self.model.tabulate)

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return bool(record.per_class) or (record.target == "class" and "prediction" in record.columns)

    def show_evaluation(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        has_classes = evaluation.record.target in _WITH_CLASSES
        self.set_title("Classes" if has_classes else "Values to predict")
        self.set_subtitle("95% intervals. Click a row to see the samples of its class." if has_classes else "")

    def follow(self) -> None:
        if self._evaluation is None:
            return
        record = self._evaluation.record
        measured = measure_classes(self._evaluation, self.selection.mask_of_others(self.key))
        self.model.replace(measured)
        left_out = [metric_title(name) for name in list_left_out(record, measured)]
        self.words.setText(_WHOLE.format(" and ".join(left_out)) if left_out else "")
        self.words.setVisible(bool(left_out))
        self.fit_height()
        number = self.find_chosen()
        self.table.mark(next((row for row, each in enumerate(self.model.rows) if each == number), None))

    def fit_height(self) -> None:
        self.table.show_rows(self.count_rows(_MOST_ROWS, _AROUND, self.table.row_height))

    def choose_row(self, row: int) -> None:
        """Choose the samples of the class in ``row`` of the table."""
        evaluation = self._evaluation
        if evaluation is not None and evaluation.record.target in _WITH_CLASSES:
            number = self.model.rows[row]
            words = f"Class “{self.model.measured.names[number]}”"
            self.choose(words, partial(find_class, number=number), number)


class _ClassRows(FigureRows):
    """Escape takes the choice back."""

    def __init__(self, view: ClassesView) -> None:
        super().__init__("Metrics of each class", view.model, view.model)
        self._view = view

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._view.find_chosen() is not None:
            self._view.selection.remove(self._view.key)
        else:
            super().keyPressEvent(event)
