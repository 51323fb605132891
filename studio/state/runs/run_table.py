"""The run library as a table, and its search."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import is_
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Slot,
)

from studio.state.formats import format_ago, format_metric, metric_title
from studio.state.runs.run_library import RunLibrary, RunSummary
from studio.theme import icon
from training.config.rules.metrics import is_known, metric
from training.errors import format_bytes, format_duration
from training.runs.records.progress import best_of

RUN_ROLE = Qt.ItemDataRole.UserRole
SPARK_ROLE = Qt.ItemDataRole.UserRole + 1

_ALIGNMENT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter

Index = QModelIndex | QPersistentModelIndex

ROOT = QModelIndex()


@dataclass(frozen=True)
class Column:
    """One column: what it shows and what it sorts by."""

    title: str
    text: Callable[[RunSummary], str]
    key: Callable[[RunSummary], Any]


def _best_text(run: RunSummary) -> str:
    best = best_of(run.record)
    return f"{metric_title(best[0]).removeprefix('validation ')} {format_metric(*best)}" if best else ""


def _best_key(run: RunSummary) -> tuple[bool, str, float]:
    """Metric by metric, the best value first; runs without one last."""
    best = best_of(run.record)
    if best is None:
        return True, "", 0.0
    name, value = best
    return False, name, -value if not is_known(name) or metric(name).maximize else value


def _get_created(run: RunSummary) -> float:
    return run.record.created


def _step_text(run: RunSummary) -> str:
    step, total = run.record.step, run.record.total_steps
    return f"{step:,} / {total:,}" if total else f"{step:,}"


COLUMNS = (
    Column("Name", lambda run: run.name, lambda run: run.name.lower()),
    Column("Status", lambda run: run.status, lambda run: run.status),
    Column("Best", _best_text, _best_key),
    Column("Loss", lambda run: "", lambda run: run.losses[-1] if run.losses else float("inf")),
    Column("Step", _step_text, lambda run: run.record.step),
    Column("Dataset", lambda run: run.dataset_title, lambda run: run.dataset_title),
    Column("Model", lambda run: run.model_title, lambda run: run.model_title),
    Column("Started", lambda run: format_ago(_get_created(run), time.time()), _get_created),
    Column("Duration", lambda run: format_duration(run.duration), lambda run: run.duration),
    Column("Size", lambda run: "" if run.size is None else format_bytes(run.size), lambda run: run.size or 0),
)
NAME, STATUS, BEST, LOSS, STEP, DATASET, MODEL, STARTED, DURATION, SIZE = range(len(COLUMNS))


class RunTableModel(QAbstractTableModel):
    """The runs of a library that match a search and a status, sorted; all changes are changes of the layout, so a selection
    stays. Not in a proxy, which would compare ten thousand rows a hundred thousand times through Python: a second, where
    sorting their keys takes a hundredth."""

    def __init__(self, library: RunLibrary, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._library = library
        self._runs: list[RunSummary] = []
        self._sorted_by = STARTED, Qt.SortOrder.DescendingOrder
        self._words: list[str] = []
        self._statuses: frozenset[str] = frozenset()
        library.refreshed.connect(self._arrange)
        self._arrange()

    def row_of(self, run_id: str) -> int | None:
        """The row of a run, if it is here."""
        return next((row for row, run in enumerate(self._runs) if run.id == run_id), None)

    def set_search(self, text: str) -> None:
        """Keep rows in which every word of ``text`` occurs in a name, id, dataset or model."""
        self._words = text.lower().split()
        self._arrange()

    def set_statuses(self, statuses: frozenset[str]) -> None:
        """Keep rows of these statuses; all when empty."""
        self._statuses = statuses
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by ``column``; later changes keep the order."""
        self._sorted_by = column, order
        self._arrange()

    @Slot()
    def _arrange(self) -> None:
        column, order = self._sorted_by
        found = [run for run in self._library.runs if self._is_wanted(run)]
        runs = sorted(found, key=COLUMNS[column].key, reverse=order == Qt.SortOrder.DescendingOrder)
        if len(runs) == len(self._runs) and all(map(is_, runs, self._runs)):
            return
        self.layoutAboutToBeChanged.emit()
        held = self.persistentIndexList()
        ids = [self._runs[index.row()].id for index in held]
        self._runs = runs
        rows = {run.id: row for row, run in enumerate(runs)}
        moved = [self.index(rows.get(run_id, -1), index.column()) for run_id, index in zip(ids, held, strict=True)]
        self.changePersistentIndexList(held, moved)
        self.layoutChanged.emit()

    def _is_wanted(self, run: RunSummary) -> bool:
        if self._statuses and run.status not in self._statuses:
            return False
        return all(word in run.search_text for word in self._words)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._runs)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[section].title
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _ALIGNMENT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        run, column = self._runs[index.row()], COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._library.title_of(run) if index.column() == NAME else column.text(run)
        if role == RUN_ROLE:
            return run
        if role == SPARK_ROLE:
            return run.losses
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _ALIGNMENT
        if role == Qt.ItemDataRole.DecorationRole and index.column() == NAME and run.parent:
            return icon("branch", "muted")
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == NAME:
            return f"Branched from {run.parent}\n{run.folder.path}" if run.parent else str(run.folder.path)
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == STATUS:
            return run.record.reason
        if role == Qt.ItemDataRole.AccessibleTextRole and index.column() == LOSS and run.losses:
            return f"loss {run.losses[-1]:.4g}"
        return None
