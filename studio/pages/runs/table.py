"""The table of runs: its columns, and which runs are chosen in it."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, Qt, Signal, Slot
from PySide6.QtWidgets import QAbstractItemView, QTableView

from studio.charts.sparkline import SparklineDelegate
from studio.panels.delegates import StatusDelegate
from studio.state.runs.run_library import RunSummary
from studio.state.runs.run_table import LOSS, RUN_ROLE, SPARK_ROLE, STARTED, STATUS, RunTableModel
from training.runs.folder import RunFolder

ROW_HEIGHT = 38


class RunsTable(QTableView):
    """Signals: `chosen_changed(list[RunFolder])`: other runs are chosen, in the order of the table."""

    chosen_changed = Signal(list)

    def __init__(self, model: RunTableModel) -> None:
        super().__init__()
        self._chosen: list[RunFolder] = []
        self.setModel(model)
        self.setAccessibleName("Runs")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setSortingEnabled(True)
        self.sortByColumn(STARTED, Qt.SortOrder.DescendingOrder)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        self.setItemDelegateForColumn(STATUS, StatusDelegate(self))
        self.setItemDelegateForColumn(LOSS, SparklineDelegate(SPARK_ROLE, self))
        self.horizontalHeader().setHighlightSections(False)
        self.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.selectionModel().selectionChanged.connect(self._tell_chosen)
        model.layoutChanged.connect(self._tell_chosen)  # a row that is filtered out loses its selection silently

    def choose(self, row: int) -> None:
        """Select one row alone."""
        flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        self.selectionModel().setCurrentIndex(self.model().index(row, 0), flags)

    def chosen_runs(self) -> list[RunSummary]:
        """The runs that are selected, in the order of the table."""
        rows = sorted(self.selectionModel().selectedRows(), key=lambda index: index.row())
        return [index.data(RUN_ROLE) for index in rows]

    @Slot()
    def _tell_chosen(self) -> None:
        chosen = [run.folder for run in self.chosen_runs()]
        if chosen != self._chosen:
            self._chosen = chosen
            self.chosen_changed.emit(chosen)
