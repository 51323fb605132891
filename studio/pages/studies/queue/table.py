"""The entries of the queue as a table: what is at work, what waits in its order, what had its turn."""

from __future__ import annotations

import time

from PySide6.QtCore import QAbstractTableModel, QItemSelection, QItemSelectionModel, QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QTableView

from studio.panels.delegates import PillDelegate
from studio.state.formats import format_ago, format_metric, metric_title
from studio.state.run_queue import RunQueue
from studio.theme import Tone
from studio.widgets import ALIGN_LEFT, ALIGN_RIGHT, NO_PARENT, AnyIndex, dress_table
from training.queue.entries import AUTO
from training.queue.overview import Shown
from training.runs.records.forms import StatusRecord
from training.runs.records.progress import best_of

SHOWN_ROLE = Qt.ItemDataRole.UserRole
PLACE, NAME, STATE, DEVICE, ENGINE, ADDED, PROGRESS, OUTCOME = range(8)
_TITLES = ("#", "Name", "State", "Device", "Engine", "Added", "Progress", "Outcome")
_ROW_HEIGHT = 36
_WIDEST_NAME, _SHARE = 520, 0.28  # pixels, and of the width; what the columns leave goes to the outcome
_WORDS: dict[str, tuple[str, Tone]] = {
    "at work": ("Training", "accent"),
    "interrupted": ("Interrupted", "warning"),
    "waiting": ("Waiting", "neutral"),
    "done": ("Done", "success"),
    "failed": ("Failed", "danger"),
    "stopped": ("Stopped", "neutral"),
    "passed over": ("Passed over", "warning"),
}
"""How the states of an entry are called, and in which color."""

_MOVES = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
_ENDS = {Qt.Key.Key_Home: "top", Qt.Key.Key_End: "bottom"}


class QueueTable(QAbstractTableModel):
    """What a look at the queue found. Rows that stay keep their selection."""

    def __init__(self, queue: RunQueue, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue = queue
        self.shown: tuple[Shown, ...] = ()

    @Slot()
    def refresh(self) -> None:
        """Show what is known by now."""
        self.layoutAboutToBeChanged.emit()
        before = [self.shown[index.row()].entry.id for index in self.persistentIndexList()]
        old, self.shown = self.persistentIndexList(), self._queue.overview.shown
        rows = {shown.entry.id: row for row, shown in enumerate(self.shown)}
        new = [
            self.index(rows[key], index.column()) if key in rows else self.index(-1, -1)
            for key, index in zip(before, old, strict=True)
        ]
        self.changePersistentIndexList(old, new)
        self.layoutChanged.emit()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.shown)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(_TITLES)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(_TITLES):
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if section == PLACE else ALIGN_LEFT
        if role == Qt.ItemDataRole.ToolTipRole and section == PLACE:
            return "The place among those that wait: 1 is trained next"
        return _TITLES[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        shown = self.shown[index.row()]
        if role == SHOWN_ROLE:
            return shown
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if index.column() == PLACE else ALIGN_LEFT
        if role == Qt.ItemDataRole.DisplayRole:
            return self._describe(shown, index.column())
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == ENGINE:
            return shown.entry.python or None
        if role == Qt.ItemDataRole.ToolTipRole and index.column() in (NAME, OUTCOME):
            return self._describe(shown, index.column()) or None
        return None

    def _describe(self, shown: Shown, column: int) -> str:
        entry, record = shown.entry, self._queue.find_record(shown)
        if column == PROGRESS:
            return describe_progress(record)
        if column == OUTCOME:
            return shown.reason or describe_result(record)
        return {
            PLACE: str(shown.place or ""),
            NAME: entry.name,
            STATE: state_words(shown)[0],
            DEVICE: entry.place.replace(AUTO, "any"),
            ENGINE: entry.engine,
            ADDED: format_ago(entry.added, time.time()),
        }[column]


def state_words(shown: Shown) -> tuple[str, Tone]:
    """Word and tone of an entry's state; one of a later version is shown as it is."""
    if shown.state == "at work" and shown.entry.stop:
        return "Stopping", "warning"
    return _WORDS.get(shown.state, (shown.state.capitalize(), "neutral"))


def describe_progress(record: StatusRecord | None) -> str:
    """How far a run is, "" before it has made a step."""
    if record is None or not record.step:
        return ""
    if not record.total_steps:
        return f"Step {record.step:,}"
    return f"Step {record.step:,} of {record.total_steps:,}"


def describe_result(record: StatusRecord | None) -> str:
    """The best value so far, by its name; "" before there is one."""
    best = best_of(record) if record is not None else None
    return f"Best {metric_title(best[0])} {format_metric(*best)}" if best is not None else ""


class QueueView(QTableView):
    """Signals: `chosen_changed()`; `move_asked(str)`: the chosen one is to wait in another place; `remove_asked()`; `open_asked()`;
    `menu_asked(QPoint)`."""

    chosen_changed, remove_asked, open_asked = Signal(), Signal(), Signal()
    move_asked = Signal(str)
    menu_asked = Signal(QPoint)

    def __init__(self, table: QueueTable) -> None:
        super().__init__()
        self._table = table
        self.setModel(table)
        dress_table(self, "Queue", _ROW_HEIGHT)
        self.verticalHeader().hide()
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QTableView.SelectionMode.ExtendedSelection)
        self.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setItemDelegateForColumn(STATE, PillDelegate(lambda index: state_words(index.data(SHOWN_ROLE)), self))
        header = self.horizontalHeader()
        header.setStretchLastSection(True)
        header.setMinimumSectionSize(24)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.customContextMenuRequested.connect(self.menu_asked)
        self.doubleClicked.connect(lambda _index: self.open_asked.emit())
        self.selectionModel().selectionChanged.connect(lambda *_: self.chosen_changed.emit())
        table.layoutChanged.connect(self._on_layout_changed)

    def list_chosen(self) -> list[Shown]:
        """The entries that are selected, in the order of the table."""
        rows = sorted(index.row() for index in self.selectionModel().selectedRows())
        return [self._table.shown[row] for row in rows if row < len(self._table.shown)]

    def choose(self, key: str) -> None:
        """Select one entry alone, where it is there."""
        row = next((row for row, shown in enumerate(self._table.shown) if shown.entry.id == key), None)
        if row is not None:
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.selectionModel().setCurrentIndex(self._table.index(row, NAME), flags)
            self.scrollTo(self._table.index(row, NAME))

    def fit_columns(self) -> None:
        """No wider than their texts, and the name is cut where it would take the room of what became of the runs."""
        self.setColumnHidden(PLACE, not any(shown.place for shown in self._table.shown))
        self.setColumnHidden(ENGINE, not any(shown.entry.engine for shown in self._table.shown))
        for column in range(OUTCOME):
            needed = max(self.sizeHintForColumn(column), self.horizontalHeader().sectionSizeHint(column))
            if column == NAME:
                needed = min(needed, _WIDEST_NAME, round(_SHARE * self.viewport().width()))
            self.setColumnWidth(column, needed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_columns()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, chosen = Qt.Key(event.key()), self.list_chosen()
        moves = event.modifiers() & Qt.KeyboardModifier.AltModifier and len(chosen) == 1 and chosen[0].place
        if moves and key in _MOVES:
            self.move_asked.emit(str(max(chosen[0].place + _MOVES[key], 1)))
        elif moves and key in _ENDS:
            self.move_asked.emit(_ENDS[key])
        elif key == Qt.Key.Key_Delete:
            self.remove_asked.emit()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.open_asked.emit()
        else:
            super().keyPressEvent(event)

    @Slot()
    def _on_layout_changed(self) -> None:
        """An entry that is gone takes its part of the selection along."""
        rows = {index.row() for index in self.selectionModel().selectedRows()}
        if -1 in rows:
            self.selectionModel().select(QItemSelection(), QItemSelectionModel.SelectionFlag.Clear)
        self.fit_columns()
        self.chosen_changed.emit()
