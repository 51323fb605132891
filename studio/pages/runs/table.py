"""The table of runs: its columns, its groups, and which runs are chosen in it."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from studio.charts.sparkline import SparklineDelegate
from studio.panels.delegates import StatusDelegate
from studio.state.runs.run_library import RunSummary
from studio.state.runs.run_table import (
    BEST,
    DATASET,
    DURATION,
    GROUP_ROLE,
    LOSS,
    MODEL,
    NAME,
    RUN_ROLE,
    SIZE,
    SPARK_ROLE,
    STAR,
    STARTED,
    STATUS,
    STEP,
    TAGS,
    Group,
    RunTableModel,
)
from training.runs.folder import RunFolder

ROW_HEIGHT = 38
LEAST_NAME = 150  # pixels; where there are less, the table scrolls sideways instead of leaving columns out
_COMFORTABLE_NAME = 200  # where there are less, the other columns are no wider than their texts
_MOST_NAME = 420  # what is left beyond that goes to all columns
_LEAST = 90
_STAR_WIDTH, _MOST_TAGS = 40, 220
_LEAST_WIDTHS = {
    STAR: _STAR_WIDTH,
    STATUS: 100,
    BEST: 80,
    LOSS: 84,
    STEP: 92,
    DATASET: 92,
    MODEL: 92,
    STARTED: 92,
    DURATION: 92,
    SIZE: 80,
}
_MEASURED = 60  # rows, those in view first, whose texts say how wide a column is: a thousand take a third of a second
_SORT_MARK = 20  # pixels, in the title of the column that the table is sorted by; Qt keeps them free in all


class RunsTable(QTableView):
    """Signals: `chosen_changed(list[RunFolder])`: other runs are chosen, in the order of the table; `star_clicked(RunSummary)`;
    `menu_asked(QPoint)`; `delete_asked()`; `open_asked(RunFolder)`: a run was double-clicked, or Enter pressed."""

    chosen_changed = Signal(list)
    star_clicked = Signal(object)
    menu_asked = Signal(QPoint)
    delete_asked = Signal()
    open_asked = Signal(object)

    def __init__(self, model: RunTableModel) -> None:
        super().__init__()
        self._runs_model = model
        self._chosen: list[RunFolder] = []
        self._left_out: frozenset[int] = frozenset()
        self.setModel(model)
        self.setAccessibleName("Runs")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setSortingEnabled(True)
        self.sortByColumn(STARTED, Qt.SortOrder.DescendingOrder)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        self.setItemDelegateForColumn(STATUS, StatusDelegate(self))
        self.setItemDelegateForColumn(LOSS, SparklineDelegate(SPARK_ROLE, self))
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(24)
        header.setResizeContentsPrecision(_MEASURED)
        self.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self.menu_asked)
        self.clicked.connect(self._on_clicked)
        self.doubleClicked.connect(self._on_double_clicked)
        self.selectionModel().selectionChanged.connect(self._tell_chosen)
        model.layoutChanged.connect(self._tell_chosen)  # a row that is filtered out loses its selection silently
        model.modelReset.connect(self._on_reset)
        self._place_columns()

    def choose(self, row: int) -> None:
        """Select one row alone."""
        flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        self.selectionModel().setCurrentIndex(self.model().index(row, NAME), flags)

    def chosen_runs(self) -> list[RunSummary]:
        """The runs that are selected, those of selected groups, too, in the order of the table."""
        found: dict[str, RunSummary] = {}
        for index in sorted(self.selectionModel().selectedRows(), key=lambda index: index.row()):
            group: Group | None = index.data(GROUP_ROLE)
            found |= {run.id: run for run in (group.runs if group is not None else (index.data(RUN_ROLE),))}
        return list(found.values())

    def hide_columns(self, hidden: frozenset[int]) -> None:
        """Leave these of the fixed columns out."""
        self._left_out = hidden
        for column in range(1, TAGS + 1):
            self.setColumnHidden(column, column in hidden)
        self.fit_columns()

    def fit_columns(self) -> None:
        """None is cut; the name takes what is left, up to a width that all share in, and the rest lies beyond the edge where that
        would be too little."""
        self.setColumnHidden(TAGS, TAGS in self._left_out or not self._runs_model.has_tags())
        header, measured = self.horizontalHeader(), self._measure_columns()
        needed = self._give_room(measured)
        left = self.viewport().width() - sum(needed.values())
        if left < _COMFORTABLE_NAME:
            mark = {column: _SORT_MARK * (column not in (STAR, header.sortIndicatorSection())) for column in measured}
            needed = {column: max(texts, title - mark[column]) for column, (texts, title) in measured.items()}
            left = self.viewport().width() - sum(needed.values())
        more = max(left - _MOST_NAME, 0) // (len(needed) + 1)
        for column, width in needed.items():
            self.setColumnWidth(column, width + (more if column != STAR else 0))
        cramped = left < LEAST_NAME
        mode = QHeaderView.ResizeMode.Interactive if cramped else QHeaderView.ResizeMode.Stretch
        header.setSectionResizeMode(NAME, mode)
        if cramped:
            self.setColumnWidth(NAME, LEAST_NAME)

    def needed_widths(self) -> dict[int, int]:
        """Of each column that is shown, but the name."""
        return self._give_room(self._measure_columns())

    @staticmethod
    def _give_room(measured: dict[int, tuple[int, int]]) -> dict[int, int]:
        return {column: max(_LEAST_WIDTHS.get(column, _LEAST), *widths) for column, widths in measured.items()}

    def _measure_columns(self) -> dict[int, tuple[int, int]]:
        """What the texts take, and the title, of each column that is shown, but the name."""
        header = self.horizontalHeader()
        widths = {STAR: (_STAR_WIDTH, _STAR_WIDTH)}
        for column in range(1, self.model().columnCount()):
            if column != STAR and not self.isColumnHidden(column):
                texts = self.sizeHintForColumn(column)
                widths[column] = min(texts, _MOST_TAGS) if column == TAGS else texts, header.sectionSizeHint(column)
        return widths

    def keyPressEvent(self, event: QKeyEvent) -> None:
        group: Group | None = self.currentIndex().data(GROUP_ROLE)
        key = event.key()
        if group is not None and self._folds(group, key):
            self._runs_model.fold(group)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.state() != QTableView.State.EditingState:
            self._open(self.currentIndex())
        elif key == Qt.Key.Key_Delete:
            self.delete_asked.emit()
        else:
            super().keyPressEvent(event)

    def _folds(self, group: Group, key: int) -> bool:
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            return True
        return key == (Qt.Key.Key_Left if self._runs_model.is_open(group) else Qt.Key.Key_Right)

    @Slot(QModelIndex)
    def _on_clicked(self, index: QModelIndex) -> None:
        run, group = index.data(RUN_ROLE), index.data(GROUP_ROLE)
        if index.column() == STAR and run is not None:
            self.star_clicked.emit(run)
        elif group is not None and index.column() == NAME:
            left = self.viewport().mapFromGlobal(self.cursor().pos()).x() - self.visualRect(index).left()
            if left < self.iconSize().width() + 24:  # on the arrow
                self._runs_model.fold(group)

    @Slot(QModelIndex)
    def _on_double_clicked(self, index: QModelIndex) -> None:
        group: Group | None = index.data(GROUP_ROLE)
        if group is not None:
            self._runs_model.fold(group)
        elif index.column() != STAR:
            self._open(index)

    def _open(self, index: QModelIndex) -> None:
        run: RunSummary | None = index.data(RUN_ROLE)
        if run is not None:
            self.open_asked.emit(run.folder)

    @Slot()
    def _on_reset(self) -> None:
        self._place_columns()
        self._tell_chosen()

    def _place_columns(self) -> None:
        header = self.horizontalHeader()
        header.moveSection(header.visualIndex(STAR), 0)
        header.moveSection(header.visualIndex(TAGS), 2)
        for column in range(TAGS + 1, self.model().columnCount()):  # what a person chose stands behind the best value
            header.moveSection(header.visualIndex(column), header.visualIndex(BEST) + column - TAGS)

    @Slot()
    def _tell_chosen(self) -> None:
        chosen = [run.folder for run in self.chosen_runs()]
        if chosen != self._chosen:
            self._chosen = chosen
            self.chosen_changed.emit(chosen)
