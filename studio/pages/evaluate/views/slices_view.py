"""Where the model does worse than elsewhere: a table of slices, the most harmful first; a row chooses its samples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import (
    QAbstractTableModel,
    QObject,
    Qt,
)
from PySide6.QtGui import QColor

from studio.pages.evaluate.view import View
from studio.pages.evaluate.views.figure_rows import FigureRows
from studio.state.context import AppContext
from studio.state.evaluations.per_class import Figure, describe_figure
from studio.state.evaluations.selection import Selection
from studio.state.evaluations.slices import Slice, find_members, find_score, find_slices
from studio.state.formats import format_metric, format_number, metric_title
from studio.theme import icon, theme
from studio.widgets import ALIGN_LEFT, ALIGN_RIGHT, NO_PARENT, AnyIndex, label
from training.predictions import Evaluation, EvaluationRecord
from training.statistics.intervals import LEVEL
from training.system.plain_table import Table

_MOST_ROWS = 12
_AROUND = 190
_MARK = "warning"
_TIP = "Its interval excludes the figure of all other samples."


class SliceTable(QAbstractTableModel):
    """A row for each slice, by how much it costs."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.slices: Sequence[Slice] = ()
        self.metric = "loss"
        self.in_lines = False

    def replace(self, metric: str, slices: Sequence[Slice]) -> None:
        """Show others."""
        self.beginResetModel()
        self.metric, self.slices = metric, slices
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.slices)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else 5

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if section else ALIGN_LEFT
        if role == Qt.ItemDataRole.ToolTipRole and section == 1:
            return "By how much the figure of all samples is worse than that of all others"
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        title = metric_title(self.metric)
        return ("Slice", "Costs all", title[0].upper() + title[1:], "From the rest", "Samples")[section]

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        each, column = self.slices[index.row()], index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if column else ALIGN_LEFT
        if role == Qt.ItemDataRole.DecorationRole and not column and is_marked(each):
            return icon(_MARK, "warning")
        if role == Qt.ItemDataRole.ForegroundRole and not each.stands_out:
            return QColor(theme().palette.muted)
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{each.words}\n{_TIP}" if each.stands_out else each.words
        return self._describe(each, column) if role == Qt.ItemDataRole.DisplayRole else None

    def tabulate(self) -> Table:
        """As it is shown."""
        slices = self.slices
        return {
            "slice": [each.aspect for each in slices],
            "value": [each.title for each in slices],
            "samples": [each.samples for each in slices],
            self.metric: [each.figure.value for each in slices],
            f"{self.metric} low": [each.figure.low for each in slices],
            f"{self.metric} high": [each.figure.high for each in slices],
            "rest": [each.rest for each in slices],
            "costs all": [each.harm for each in slices],
            "stands out": ["yes" if each.stands_out else "no" for each in slices],
        }

    def _describe(self, each: Slice, column: int) -> str:
        show = partial(format_metric, self.metric)
        match column:
            case 0:
                return f"{each.aspect}:\n{each.title}" if self.in_lines else each.words
            case 1:
                return _sign(each.harm) + show(abs(each.harm))
            case 2:
                return describe_figure(self.metric, Figure(*each.figure), in_lines=self.in_lines)
            case 3:
                return _sign(each.difference) + show(abs(each.difference))
        return f"{each.samples:,}"


class SlicesView(View):
    """Counts what the other views chose."""

    key = "slices"
    heading = "Slices"
    tab = "Slices"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self._evaluation: Evaluation | None = None
        self.model = SliceTable(self)
        self.table = FigureRows("Slices", self.model, self.model)
        self.table.row_chosen.connect(self.choose_row)
        self.words = label("", "help", wrap=True)
        self._is_fitted = False
        self.add(self.table, self.words)
        self.set_subtitle(
            "Parts that have something in common, the most harmful first. Click a row to see its samples."
        )
        self.offer(None, self.model.tabulate)

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return record.has_losses

    def show_evaluation(self, evaluation: Evaluation) -> None:
        self._evaluation, self._is_fitted = evaluation, False

    def follow(self) -> None:
        evaluation = self._evaluation
        if evaluation is None:
            return
        slices = find_slices(evaluation, self.selection.mask_of_others(self.key))
        self.model.replace(find_score(evaluation).name, slices)
        if not self._is_fitted and slices:
            self._is_fitted = True
            self.table.fit_columns()
        self.fit_height()
        self.words.setText(_describe_chance(slices))
        place = self.find_chosen()
        self.table.mark(next((row for row, each in enumerate(slices) if place == (each.aspect, each.title)), None))

    def fit_height(self) -> None:
        self.table.show_rows(self.count_rows(_MOST_ROWS, _AROUND, self.table.row_height))

    def choose_row(self, row: int) -> None:
        """Choose the samples of the slice in a row of the table."""
        each = self.model.slices[row]
        find = partial(find_members, aspect=each.aspect, title=each.title)
        self.choose(each.words, find, (each.aspect, each.title))


def is_marked(each: Slice) -> bool:
    """Whether it is worse than the rest, by more than its interval allows."""
    return each.harm > 0 and each.stands_out


def _describe_chance(slices: Sequence[Slice]) -> str:
    if not slices:
        return "No part of ten samples or more: nothing can be said of fewer."
    expected = len(slices) * (1 - LEVEL) / 2
    marked = sum(map(is_marked, slices))
    return (
        f"{marked:,} of {len(slices):,} slices are marked: they are worse, and their 95% interval excludes the figure of all other samples. "
        f"By chance alone about {format_number(expected, 2)} would be. Gray: within chance."
    )


def _sign(value: float) -> str:
    return "−" if value < 0 else "+"
