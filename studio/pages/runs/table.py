"""The table of runs: its columns, its groups, and which runs are chosen in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPersistentModelIndex, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

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
LEAST_NAME = 150  # pixels; where columns that a person chose leave less, the table scrolls sideways
_COMFORTABLE_NAME = 220  # where there are less, the other columns are no wider than their texts, and then fewer
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
_FIRST_TO_GO = (SIZE, DURATION, STEP, MODEL, DATASET, STARTED, LOSS)
"""Columns that a narrow table leaves out, one after the other; before them those in which all rows say the same."""
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
        self._titles: dict[int, int] = {}  # how wide the title of each column is
        self.unfitting: tuple[str, ...] = ()  # titles of columns that there is no room for
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
        self.setItemDelegateForColumn(NAME, _NameDelegate(model, self))
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
        self.fit_columns()

    def fit_columns(self) -> None:
        """None is cut; the name takes what is left, up to a width that all share in. Where that would be too little, fixed columns
        are left out, and the rest lies beyond the edge."""
        header, measured = self.horizontalHeader(), self._measure_columns()
        needed = self._give_room(measured)
        left = self.viewport().width() - sum(needed.values())
        if left < _COMFORTABLE_NAME:
            mark = {column: _SORT_MARK * (column not in (STAR, header.sortIndicatorSection())) for column in measured}
            needed = {column: max(texts, title - mark[column]) for column, (texts, title) in measured.items()}
            left = self.viewport().width() - sum(needed.values())
        gone = self._leave_out(needed, left)
        left += sum(needed.pop(column) for column in gone)
        for column in range(1, TAGS + 1):
            if self.isColumnHidden(column) != (column not in needed):
                self.setColumnHidden(column, column not in needed)
        more = max(left - _MOST_NAME, 0) // (len(needed) + 1)
        for column, width in needed.items():
            self.setColumnWidth(column, width + (more if column != STAR else 0))
        cramped = left < LEAST_NAME
        mode = QHeaderView.ResizeMode.Interactive if cramped else QHeaderView.ResizeMode.Stretch
        header.setSectionResizeMode(NAME, mode)
        if cramped:
            self.setColumnWidth(NAME, LEAST_NAME)
        self.unfitting = tuple(self._runs_model.columns[column].title for column in sorted(gone))

    def _leave_out(self, needed: dict[int, int], left: int) -> list[int]:
        """The columns without which the name has room, of ``left`` pixels with all of them."""
        gone: list[int] = []
        if left >= _COMFORTABLE_NAME:
            return gone
        same = [column for column in (DATASET, MODEL) if len(set(_list_texts(self._runs_model, column))) < 2]
        order = dict.fromkeys((*same, *_FIRST_TO_GO))
        sorted_by = self.horizontalHeader().sortIndicatorSection()
        for column in sorted(order, key=lambda column: column == sorted_by):
            if left >= _COMFORTABLE_NAME:
                break
            if column in needed:
                gone.append(column)
                left += needed[column]
        return gone

    def needed_widths(self) -> dict[int, int]:
        """Of each column that is to be shown, but the name."""
        return self._give_room(self._measure_columns())

    @staticmethod
    def _give_room(measured: dict[int, tuple[int, int]]) -> dict[int, int]:
        return {column: max(_LEAST_WIDTHS.get(column, _LEAST), *widths) for column, widths in measured.items()}

    def _measure_columns(self) -> dict[int, tuple[int, int]]:
        """What the texts take, and the title, of each column that is to be shown, but the name."""
        header = self.horizontalHeader()
        widths = {STAR: (_STAR_WIDTH, _STAR_WIDTH)}
        hidden = self._left_out if self._runs_model.has_tags() else self._left_out | {TAGS}
        for column in range(1, self.model().columnCount()):
            if column != STAR and column not in hidden:
                if title := header.sectionSizeHint(column):  # none of a hidden one
                    self._titles[column] = title
                texts = self.sizeHintForColumn(column)
                texts = min(texts, _MOST_TAGS) if column == TAGS else texts
                widths[column] = texts, self._titles.get(column, _LEAST)
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


def _list_texts(model: RunTableModel, column: int) -> list[str]:
    """What the first rows show."""
    return [str(model.index(row, column).data()) for row in range(min(model.rowCount(), _MEASURED))]


class _NameDelegate(QStyledItemDelegate):
    """Of a name that does not fit, as much of its beginning is left out as another row has, too; then its middle."""

    def __init__(self, model: RunTableModel, parent: QTableView) -> None:
        super().__init__(parent)
        self._model = model
        self._names: list[str] = []  # in alphabetical order, once one did not fit
        for changed in (model.layoutChanged, model.modelReset, model.dataChanged):
            changed.connect(self._forget)

    @Slot()
    def _forget(self) -> None:
        self._names = []

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = Qt.TextElideMode.ElideMiddle
        style = option.widget.style() if option.widget is not None else QApplication.style()
        place = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, option, option.widget)
        room = place.width() - 2 * style.pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin, option, option.widget)
        if option.fontMetrics.horizontalAdvance(option.text) > room:
            self._names = self._names or sorted(_list_texts(self._model, NAME))
            option.text = _shorten(
                option.text, self._names, lambda text: option.fontMetrics.horizontalAdvance(text) <= room
            )


def _shorten(name: str, names: list[str], fits: Callable[[str], bool]) -> str:
    """``name`` without the first of its words that one of ``names``, which are sorted, begins with, too: as few as make it fit."""
    at = bisect_left(names, name)
    near = [each for each in names[max(at - 1, 0) : at + 2] if each != name]
    shared = max((_count_same(name, each) for each in near), default=0)
    short = name
    for word in re.finditer(r"[-_ /]", name[:shared]):
        short = f"…{name[word.end() :]}"
        if fits(short):
            break
    return short


def _count_same(first: str, second: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))
