"""How well each class, label or value is told, with intervals; a row chooses the samples of its class."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QKeyEvent

from studio.pages.evaluate.view import View
from studio.pages.evaluate.views.figure_rows import FigureRows
from studio.state.context import AppContext
from studio.state.evaluations.per_class import (
    PerClass,
    describe_figure,
    find_class,
    list_left_out,
    measure_classes,
)
from studio.state.evaluations.selection import Selection
from studio.state.formats import metric_title
from studio.widgets import SortedTable, label
from training.predictions import Evaluation, EvaluationRecord
from training.predictions.record import OF_ALL_SCORES, ONLY_LARGEST
from training.system.plain_table import Table

_MOST_ROWS = 14
_AROUND = 120
_WHOLE = "Of all samples only: {}."
_SCORES = " and ".join(map(metric_title, OF_ALL_SCORES))
_WITH_CLASSES = ("class", "labels", "mask", "tasks")


class ClassTable(SortedTable):
    """A row for each name."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.measured = PerClass((), (), {})
        self.row_title = "Class"
        self.in_lines = False

    def replace(self, measured: PerClass) -> None:
        """Show other figures, sorted as before; the same columns keep their widths."""
        same = len(measured.names) == len(self.rows) and list(measured.figures) == list(self.measured.figures)
        if same:
            self.layoutAboutToBeChanged.emit()
        else:
            self.beginResetModel()
        self.measured = measured
        self.arrange(len(measured.names))
        if same:
            self.layoutChanged.emit()
        else:
            self.endResetModel()

    def list_titles(self) -> list[str]:
        measured = self.measured
        words = [self.row_title, *(["Support"] if measured.support else []), *map(metric_title, measured.figures)]
        return [each[0].upper() + each[1:] for each in words]

    def has_figures(self, column: int) -> bool:
        return column > 0

    def list_figures(self, column: int) -> Sequence[float | None]:
        name = self._metric(column)
        return [each.value for each in self.measured.figures[name]] if name else self.measured.support

    def describe(self, row: int, column: int) -> str:
        measured, name = self.measured, self._metric(column)
        if name:
            return describe_figure(name, measured.figures[name][row], in_lines=self.in_lines)
        return f"{measured.support[row]:,}" if column else measured.names[row]

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
        has_classes = (record.target == "class" and "prediction" in record.columns) or any(record.target_classes)
        return bool(record.per_class) or has_classes

    def show_evaluation(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        has_classes = evaluation.record.target in _WITH_CLASSES
        self.model.row_title, self.tab = ("Class", "Classes") if has_classes else ("Target", "Targets")
        self.set_title(self.tab)
        self.set_subtitle("95% intervals. Click a row to see the samples of its class." if has_classes else "")

    def follow(self) -> None:
        if self._evaluation is None:
            return
        record = self._evaluation.record
        mask = self.selection.mask_of_others(self.key)
        measured = measure_classes(self._evaluation, mask)
        self.model.replace(measured)
        left_out = [metric_title(name) for name in list_left_out(record, measured)]
        words = [_WHOLE.format(" and ".join(left_out))] if left_out else []
        if record.target == "class" and "classes" in record.columns:
            words.append(f"{_SCORES}: not measured, since {ONLY_LARGEST}.")
        self.words.setText(" ".join(words))
        self.words.setVisible(bool(words))
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
