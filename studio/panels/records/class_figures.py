"""A table of how well each class, label or value is told."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from studio.state.formats import format_number
from studio.widgets import SortedTable, dress_table, fit_rows
from training.metric_names import is_known, metric
from training.runs.records.evaluation import Evaluation

_ROW_HEIGHT = 28
_MOST_ROWS = 15
_MEAN_OF = {"iou": "mean_iou"}  # what is reported as a mean only, and is shown alike for a single class


class ClassFigures(SortedTable):
    """A row for each name."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._evaluation = Evaluation(step=0, names=())

    def replace(self, evaluation: Evaluation) -> None:
        """Show another evaluation, sorted as before."""
        self.beginResetModel()
        self._evaluation = evaluation
        self.arrange(len(evaluation.names))
        self.endResetModel()

    def list_titles(self) -> list[str]:
        counted = ["Support (n)", "Most confused with"] if self._evaluation.confusion else []
        return ["Name", *(_title(name) for name in self._evaluation.each), *counted]

    def has_figures(self, column: int) -> bool:
        return 0 < column <= len(self._evaluation.each) + bool(self._evaluation.confusion)

    def list_figures(self, column: int) -> Sequence[float | None]:
        each = list(self._evaluation.each.values())
        return each[column - 1] if column <= len(each) else [self._support(row) for row in range(len(self.rows))]

    def describe(self, row: int, column: int) -> str:
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

    # ------------------------------------------------------------------------------------------- inside

    def _support(self, row: int) -> int:
        """How many samples (pixels) are of this class."""
        return sum(self._evaluation.confusion[row])

    def _wrong(self, row: int) -> list[int]:
        return [0 if other == row else count for other, count in enumerate(self._evaluation.confusion[row])]


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
