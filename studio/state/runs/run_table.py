"""The run library as a table: filtered, sorted, grouped."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal, Slot

from studio.state.runs.run_columns import (
    BEST,
    DATASET,
    DURATION,
    FIXED,
    LOSS,
    MODEL,
    NAME,
    SIZE,
    STAR,
    STARTED,
    STATUS,
    STEP,
    TAGS,
    Column,
    describe_group,
    make_column,
)
from studio.state.runs.run_library import RunLibrary, RunSummary
from studio.state.runs.run_values import RunValues
from studio.theme import icon
from training.runs.groups import group_by
from training.runs.query import Query, asks_for_archived
from training.runs.query.conditions import Value

__all__ = [
    "BEST", "DATASET", "DURATION", "GROUP_ROLE", "LOSS", "MODEL", "NAME", "REPEATS", "RUN_ROLE", "SIZE", "SPARK_ROLE", "STAR",
    "STARTED", "STATUS", "STEP", "TAGS", "Group", "RunTableModel",
]  # fmt: skip

RUN_ROLE = Qt.ItemDataRole.UserRole
SPARK_ROLE = Qt.ItemDataRole.UserRole + 1
GROUP_ROLE = Qt.ItemDataRole.UserRole + 2

REPEATS = "repeats"
"""How runs are grouped whose settings are the same but for the seed."""

_ALIGNMENT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_INDENT = "\u2003\u2003"

Index = QModelIndex | QPersistentModelIndex

ROOT = QModelIndex()


@dataclass(frozen=True)
class Group:
    """Runs in one row; ``key`` is what they have in common."""

    key: Hashable
    title: str
    runs: tuple[RunSummary, ...]


Row = RunSummary | Group
_Members = tuple[Hashable, tuple[RunSummary, ...]]
_Item = TypeVar("_Item")


class RunTableModel(QAbstractTableModel):
    """The runs of a library that match a filter and a status, sorted and grouped; all changes are changes of the layout, so a
    selection stays. Not in a proxy, which would compare ten thousand rows a hundred thousand times through Python: a second, where
    sorting their keys takes a hundredth.

    Signals:
        renamed(RunSummary, str): a person typed another name.
    """

    renamed = Signal(object, str)

    def __init__(self, library: RunLibrary, values: RunValues, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.columns: list[Column] = list(FIXED)
        self.keys: tuple[str, ...] = ()  # of the columns behind the fixed ones
        self.hidden = 0  # archived runs that the filter found and that are not shown
        self._library = library
        self._values = values
        self._rows: list[Row] = []
        self._members: set[str] = set()  # runs below the row of their group
        self._sorted_by = STARTED, Qt.SortOrder.DescendingOrder
        self._query: Query | None = None
        self._statuses: frozenset[str] = frozenset()
        self._archived = False
        self._groups: tuple[str, ...] = ()
        self._open: set[Hashable] = set()
        library.refreshed.connect(self._arrange)
        values.changed.connect(self._on_values)
        self._arrange()

    def row_of(self, run_id: str) -> int | None:
        """The row of a run, if it is here."""
        return next(
            (row for row, run in enumerate(self._rows) if isinstance(run, RunSummary) and run.id == run_id), None
        )

    def runs_shown(self) -> list[RunSummary]:
        """All runs that are found, those in folded groups, too."""
        runs = (row.runs if isinstance(row, Group) else (row,) for row in self._rows)
        return list({run.id: run for some in runs for run in some}.values())

    def has_tags(self) -> bool:
        """Whether any run of the library has one."""
        return any(run.about.tags for run in self._library.runs)

    def set_query(self, query: Query | None) -> None:
        """Keep the runs that ``query`` wants; all when None."""
        self._query = query
        self._arrange()

    def set_statuses(self, statuses: frozenset[str]) -> None:
        """Keep rows of these statuses; all when empty."""
        self._statuses = statuses
        self._arrange()

    def show_archived(self, on: bool) -> None:
        """Whether archived runs are shown, too."""
        self._archived = on
        self._arrange()

    def set_columns(self, keys: Iterable[str]) -> None:
        """Show these settings and metrics behind the fixed columns."""
        found = tuple(dict.fromkeys(keys))
        if found != self.keys:
            self.beginResetModel()
            self.keys = found
            self.columns = [*FIXED, *(make_column(key, self._values) for key in found)]
            if self._sorted_by[0] >= len(self.columns):
                self._sorted_by = STARTED, Qt.SortOrder.DescendingOrder
            self.endResetModel()
            self._arrange()

    def group(self, names: Sequence[str]) -> None:
        """Put runs that have the same values of all ``names`` into one row each, or those that are ``REPEATS`` of each other."""
        self._groups = tuple(names)
        self._open.clear()
        self._arrange()

    def fold(self, group: Group) -> None:
        """Show the runs of a group below it, or no longer."""
        self._open ^= {group.key}
        self._arrange()

    def is_open(self, group: Group) -> bool:
        """Whether its runs are shown."""
        return group.key in self._open

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by ``column``; later changes keep the order."""
        self._sorted_by = column, order
        self._arrange()

    @Slot()
    def _on_values(self) -> None:
        self._arrange()
        if self.keys and self._rows:  # the same rows may show other values
            last = self.index(len(self._rows) - 1, len(self.columns) - 1)
            self.dataChanged.emit(self.index(0, len(FIXED)), last)

    @Slot()
    def _arrange(self) -> None:
        rows = self._make_rows(self._sort(self._find_runs()))
        if len(rows) == len(self._rows) and all(map(is_, rows, self._rows)):
            return
        self.layoutAboutToBeChanged.emit()
        held = self.persistentIndexList()
        ids = [_identity(self._rows[index.row()]) for index in held]
        self._rows = rows
        places = {_identity(row): at for at, row in enumerate(rows)}
        moved = [self.index(places.get(each, -1), index.column()) for each, index in zip(ids, held, strict=True)]
        self.changePersistentIndexList(held, moved)
        self.layoutChanged.emit()

    def _find_runs(self) -> list[RunSummary]:
        query, values = self._query, self._values
        keys = query.names if query is not None else frozenset()
        found = [run for run in self._library.runs if not self._statuses or run.status in self._statuses]
        if query is not None:
            found = [run for run, asked in values.each(found, keys) if query.matches(asked)]
        if self._archived or (query is not None and asks_for_archived(query.text)):
            self.hidden = 0
            return found
        shown = [run for run in found if not run.about.archived]
        self.hidden = len(found) - len(shown)
        return shown

    def _sort(self, runs: list[RunSummary]) -> list[RunSummary]:
        column, order = self._sorted_by
        key = self.columns[column].key
        return _order([(key(run), run) for run in runs], order)

    def _make_rows(self, runs: list[RunSummary]) -> list[Row]:
        self._members = set()
        if not self._groups:
            return list(runs)
        known = {run.id: run for run in runs}
        groups = group_by({run.id: self._group_key(run) for run in runs})
        rows: list[Row] = []
        before = {row.key: row for row in self._rows if isinstance(row, Group)}
        for made in self._sort_groups([(key, tuple(known[each] for each in ids)) for key, ids in groups.items()]):
            key, members = made
            if len(members) == 1:
                rows.append(members[0])
                continue
            group = Group(key, describe_group(members, self._list_shared(members[0])), members)
            rows.append(before[key] if before.get(key) == group else group)
            if key in self._open:
                rows += members
                self._members |= {run.id for run in members}
        return rows

    def _group_key(self, run: RunSummary) -> Hashable:
        if self._groups == (REPEATS,):
            return self._values.recipes.get(run.id) or run.id  # of one whose settings are not read yet nothing is known
        return tuple(self._values.value(run, name) for name in self._groups)

    def _list_shared(self, run: RunSummary) -> list[tuple[str, str]]:
        if self._groups == (REPEATS,):
            return []
        return [(name, _show(self._values.value(run, name))) for name in self._groups]

    def _sort_groups(self, groups: list[_Members]) -> list[_Members]:
        """By the mean where the column has one; else they stand where their first run would."""
        column, order = self._sorted_by
        if self.columns[column].number is None:
            return groups
        return _order([(self.columns[column].group_key(runs), (key, runs)) for key, runs in groups], order)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        editable = index.isValid() and index.column() == NAME and isinstance(self._rows[index.row()], RunSummary)
        return flags | Qt.ItemFlag.ItemIsEditable if editable else flags

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return "" if section == STAR else column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.tip or column.title
        if role == Qt.ItemDataRole.DecorationRole and section == STAR:
            return icon("star", "muted")
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _ALIGNMENT
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        row = self._rows[index.row()] if index.isValid() else None
        if role != Qt.ItemDataRole.EditRole or not isinstance(row, RunSummary) or index.column() != NAME:
            return False
        if str(value).strip() != row.name:
            self.renamed.emit(row, str(value))
        return True

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _ALIGNMENT
        return self._group_data(row, column, role) if isinstance(row, Group) else self._run_data(row, column, role)

    def _group_data(self, group: Group, column: int, role: int) -> Any:
        if role == GROUP_ROLE:
            return group
        if role == Qt.ItemDataRole.DisplayRole:
            if column in (LOSS, STAR):
                return ""
            return group.title if column == NAME else self.columns[column].group_text(group.runs)
        if role == Qt.ItemDataRole.DecorationRole and column == NAME:
            return icon("chevron-down" if self.is_open(group) else "chevron-right", "muted")
        if role == Qt.ItemDataRole.ToolTipRole and column == NAME:
            return "\n".join(run.name for run in group.runs[:20])
        if role == Qt.ItemDataRole.AccessibleTextRole and column == NAME:
            return f"{group.title}, {'unfolded' if self.is_open(group) else 'folded'}"
        return None

    def _run_data(self, run: RunSummary, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            if column != NAME:
                return self.columns[column].text(run)
            return f"{_INDENT if run.id in self._members else ''}{self._library.title_of(run)}"
        if role == RUN_ROLE:
            return run
        if role == SPARK_ROLE:
            return run.losses
        if role == Qt.ItemDataRole.EditRole and column == NAME:
            return run.name
        if role == Qt.ItemDataRole.DecorationRole and column == NAME and run.parent:
            return icon("branch", "muted")
        if role == Qt.ItemDataRole.DecorationRole and column == STAR and run.about.star:
            return icon("star", "warning")
        if role == Qt.ItemDataRole.ToolTipRole:
            return _explain(run, column)
        if role == Qt.ItemDataRole.AccessibleTextRole and column == LOSS and run.losses:
            return f"loss {run.losses[-1]:.4g}"
        if role == Qt.ItemDataRole.AccessibleTextRole and column == STAR:
            return "starred" if run.about.star else "no star"
        return None


def _explain(run: RunSummary, column: int) -> str | None:
    if column == NAME:
        lines = [run.name] + [f"Branched from {run.parent}"] * bool(run.parent) + [str(run.folder.path)]
        lines += [f"Tags: {', '.join(run.about.tags)}"] * bool(run.about.tags)
        return "\n".join(lines + [run.about.notes] * bool(run.about.notes))
    if column != STATUS:
        return None
    return " ".join(filter(None, (run.record.reason, run.record.advice))) or None


def _order(keyed: list[tuple[Any, _Item]], order: Qt.SortOrder) -> list[_Item]:
    """By their keys; what has none comes last, whichever way."""
    there = [pair for pair in keyed if pair[0] is not None]
    there.sort(key=lambda pair: pair[0], reverse=order == Qt.SortOrder.DescendingOrder)
    return [item for _key, item in there] + [item for key, item in keyed if key is None]


def _identity(row: Row) -> Hashable:
    return ("group", row.key) if isinstance(row, Group) else row.id


def _show(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(value) if isinstance(value, tuple) else str(value or "")
