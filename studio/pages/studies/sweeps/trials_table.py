"""The table of a sweep's trials: number, state with its reason, value, settings, time and run."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QItemSelectionModel, QObject, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QTableView

from studio.forms.messages import as_sentence
from studio.pages.studies.sweeps.names import SettingNames
from studio.state.formats import format_metric, metric_title
from studio.theme import font
from studio.widgets import AnyIndex, SortedTable, dress_table
from training.errors import format_duration
from training.sweeps.records import SweepRecord, TrialRecord

NONE = "–"
_ROW = 30
_LONGEST = 320  # pixels of one column


def describe_trial(trial: TrialRecord, repeats: int) -> str:
    """Its state, with where and why it ended."""
    words: str = trial.words
    if trial.state == "pruned" and trial.curve and not trial.reason:
        last = trial.curve[-1][0]
        words = f"pruned after {last} of {repeats} seeds" if repeats > 1 else f"pruned at validation {last}"
    reason = f": {trial.reason}" if trial.reason else ""
    return as_sentence(f"{words}{', by hand' if trial.by_hand else ''}{reason}")


class TrialRows(SortedTable):
    """``record`` is of the sweep that is shown."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.record: SweepRecord | None = None
        self._names: SettingNames | None = None

    def show_record(self, record: SweepRecord, names: SettingNames) -> None:
        """Have its trials for rows."""
        before, self.record, self._names = self.record, record, names
        same = before is not None and before.sweep.path == record.sweep.path
        if same and len(before.trials) == len(record.trials):  # type: ignore[union-attr]  # or it would not be the same
            self.layoutAboutToBeChanged.emit()
            self.arrange(len(record.trials))
            self.layoutChanged.emit()
        else:
            self.beginResetModel()
            self.arrange(len(record.trials))
            self.endResetModel()

    def trial_at(self, row: int) -> TrialRecord | None:
        """The trial in a row of the table."""
        return self.record.trials[self.rows[row]] if self.record and 0 <= row < len(self.rows) else None

    def row_of(self, number: int) -> int | None:
        """Where a trial stands."""
        return self.rows.index(number) if number in self.rows else None

    def list_titles(self) -> Sequence[str]:
        if self.record is None or self._names is None:
            return ()
        value = metric_title(self.record.sweep.metric)
        return ("Trial", "State", as_sentence(value), *self._names.titles.values(), "Time", "Run")

    def describe(self, row: int, column: int) -> str:
        assert self.record is not None
        trial, last = self.record.trials[row], len(self.list_titles()) - 1
        if column == 0:
            return f"{trial.number}{' ★' if trial.number == self.record.best else ''}"
        if column == 1:
            words = describe_trial(trial, self.record.sweep.repeats)
            return self._names.say(words) if self._names is not None else words
        if column == 2:
            return NONE if trial.value is None else format_metric(self.record.sweep.metric, trial.value)
        if column == last:
            return trial.run or NONE
        if column == last - 1:
            return NONE if trial.seconds is None else format_duration(trial.seconds)
        dimension = self.record.sweep.space.dimensions[column - 3]
        value = trial.params.get(dimension.path)
        return NONE if value is None or self._names is None else self._names.tell(dimension, value)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.ToolTipRole and self.record is not None and orientation == Qt.Orientation.Horizontal:
            dimensions = self.record.sweep.space.dimensions
            return dimensions[section - 3].path if 3 <= section < 3 + len(dimensions) else None
        return super().headerData(section, orientation, role)

    def has_figures(self, column: int) -> bool:
        if self.record is None or column in (1, len(self.list_titles()) - 1):
            return False
        last = len(self.list_titles()) - 1
        return not 3 <= column < last - 1 or self.record.sweep.space.dimensions[column - 3].sort != "choice"

    def list_figures(self, column: int) -> Sequence[float | None]:
        assert self.record is not None
        last = len(self.list_titles()) - 1
        if column == 0:
            return [trial.number for trial in self.record.trials]
        if column == 2:
            return [trial.value for trial in self.record.trials]
        if column == last - 1:
            return [trial.seconds for trial in self.record.trials]
        path = self.record.sweep.space.dimensions[column - 3].path
        values = [trial.params.get(path) for trial in self.record.trials]
        return [None if value is None or isinstance(value, str) else float(value) for value in values]

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.FontRole and self.record is not None and index.isValid():
            if self.rows[index.row()] == self.record.best:
                face = QFont(font("body"))
                face.setWeight(QFont.Weight.DemiBold)
                return face
            return None
        return super().data(index, role)


class TrialsTable(QTableView):
    """Signals: `chosen(int)`, the number of a trial; `opened(int)` by a double click or Enter."""

    chosen, opened = Signal(int), Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.rows = TrialRows(self)
        self.setModel(self.rows)
        dress_table(self, "Trials", _ROW)
        self.verticalHeader().hide()
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setSortingEnabled(True)
        self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        self.horizontalHeader().setStretchLastSection(True)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.selectionModel().currentRowChanged.connect(self._on_row)
        self.activated.connect(self._on_activated)
        self._fitted: tuple[object, ...] = ()

    def show_record(self, record: SweepRecord, names: SettingNames, chosen: int | None) -> None:
        """Show its trials, with one chosen; those of the sweep that was shown stay where they are."""
        before, place = self.rows.record, self.verticalScrollBar().value()
        with QSignalBlocker(self.selectionModel()):
            self.rows.show_record(record, names)
        is_same = before is not None and before.sweep.path == record.sweep.path
        self.mark(chosen, scroll=not is_same)
        self._fit()
        if is_same:
            self.verticalScrollBar().setValue(place)

    def mark(self, number: int | None, *, scroll: bool = True) -> None:
        """Choose a trial without saying so."""
        row = self.rows.row_of(number) if number is not None else None
        selection = self.selectionModel()
        with QSignalBlocker(selection):
            if row is None:
                selection.clear()
            elif row != self.currentIndex().row() or not selection.hasSelection():
                how = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
                selection.setCurrentIndex(self.rows.index(row, 0), how)
                if scroll:
                    QTimer.singleShot(0, self, self._show_chosen)  # once it has its room
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        QTimer.singleShot(0, self, self._show_chosen)

    def _show_chosen(self) -> None:
        self.scrollTo(self.currentIndex())

    def _fit(self) -> None:
        """Columns as wide as what they hold, once for each width of words: a person may have drawn them otherwise."""
        titles = tuple(self.rows.list_titles())
        widths = tuple(
            max(len(self.rows.describe(row, column)) for row in range(self.rows.rowCount()))
            if self.rows.rowCount()
            else 0
            for column in range(len(titles))
        )
        if self._fitted != (titles, widths):
            self._fitted = titles, widths
            self.resizeColumnsToContents()
            for column in range(len(titles)):
                self.setColumnWidth(column, min(self.columnWidth(column) + 8, _LONGEST))

    def _on_row(self) -> None:
        trial = self.rows.trial_at(self.currentIndex().row())
        if trial is not None:
            self.chosen.emit(trial.number)

    def _on_activated(self, index: AnyIndex) -> None:
        trial = self.rows.trial_at(index.row())
        if trial is not None:
            self.opened.emit(trial.number)
