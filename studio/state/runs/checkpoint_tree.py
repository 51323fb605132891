"""The checkpoints of a run as a tree: below each what began there, other runs with their own checkpoints, and steps that were set aside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal, Slot

from studio.services.background import Background
from studio.state.runs.checkpoint_list import READING, CheckpointList, describe_worth, epochs
from studio.state.runs.run_library import RunLibrary, RunSummary
from studio.state.runs.set_aside import Stretch
from studio.state.runs.way_on import START_OVER
from training.runs.folder import RunFolder
from training.runs.records.manifest import CheckpointInfo

ROW_ROLE = Qt.ItemDataRole.UserRole
"""What stands there: a CheckpointInfo, Branch, Stretch or Note."""

WORTH_ROLE = Qt.ItemDataRole.UserRole + 1
"""What a checkpoint is worth, in one line."""

RUN_ROLE = Qt.ItemDataRole.UserRole + 2
"""The RunFolder whose checkpoint it is, or that a Branch opens."""

KEY_ROLE = Qt.ItemDataRole.UserRole + 3
"""Tells the row from all others of the tree, also after it was read again."""

Index = QModelIndex | QPersistentModelIndex

ROOT = QModelIndex()


@dataclass(frozen=True)
class Branch:
    """A run that begins at ``step`` of the one above it; ``is_parent``: the run that the one shown was branched from, at that step of
    its own. ``step`` is None where it began without a checkpoint."""

    folder: RunFolder
    title: str
    status: str
    step: int | None
    is_parent: bool = False

    @property
    def words(self) -> str:
        """What the row says."""
        at = f" at step {self.step:,}" if self.step is not None else ""
        return f"{'Branched from' if self.is_parent else 'Branch'} “{self.title}”{at}"


@dataclass(frozen=True)
class Note:
    """A row that only says something, as that there is nothing."""

    words: str


Row = CheckpointInfo | Branch | Stretch | Note


class Wanted(NamedTuple):
    """A row as it has to be; ``run``: whose it is."""

    row: Row
    run: RunFolder
    monitor: str
    below: Sequence[Wanted]

    @property
    def key(self) -> str:
        """What tells it from the rows beside it."""
        row = self.row
        if isinstance(row, CheckpointInfo):
            return row.name
        if isinstance(row, Stretch):
            return f"set aside {row.aside.name}"
        return f"run {row.folder.id}" if isinstance(row, Branch) else "note"


def key_of(run: RunFolder, name: str) -> str:
    """What KEY_ROLE says of the checkpoint in the folder ``name`` of ``run``."""
    return f"{run.id}/{name}"


def list_branches(library: RunLibrary, folder: RunFolder) -> list[Branch]:
    """The runs that were branched from the one in ``folder``, as the list of runs has them."""
    return [
        Branch(run.folder, library.title_of(run), run.status, _step_of(run))
        for run in library.runs
        if run.parent == folder.id and run.id != folder.id
    ]


def find_parent(library: RunLibrary, folder: RunFolder) -> Branch | None:
    """The run that the one in ``folder`` was branched from; None where there is none, or it is there no more."""
    own = library.find(folder.id)
    parent = library.find(own.parent) if own is not None and own.parent else None
    if own is None or parent is None:
        return None
    return Branch(parent.folder, library.title_of(parent), parent.status, _step_of(own), is_parent=True)


def _step_of(run: RunSummary) -> int | None:
    parent = run.record.parent
    match = re.search(r"step-([0-9]+)[\\/]*$", (parent.checkpoint if parent else None) or "")
    return int(match[1]) if match else None


def _begins_at(row: Row) -> int:
    """The step at which a row stands; those of which that is not known come last."""
    if isinstance(row, Stretch):
        return row.aside.step
    return -1 if isinstance(row, Note) or row.step is None else row.step


class CheckpointTree(QAbstractItemModel):
    """Follows ``checkpoints`` of the run shown, and ``library`` for the runs that began there. A branch is read when it is opened.

    Signals:
        arranged(): rows may have come, gone or changed.
    """

    arranged = Signal()

    def __init__(
        self, checkpoints: CheckpointList, library: RunLibrary, background: Background, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._own, self._library, self._background = checkpoints, library, background
        self._opened: dict[RunFolder, CheckpointList] = {}
        self._stretches: tuple[Stretch, ...] = ()
        self._note = ""
        self._numbers = count(1)
        self._top = _Node(0, Wanted(Note(""), RunFolder(Path()), "", ()), None)
        self._nodes = {0: self._top}
        self._stale = False
        self.replacing = False  # rows come and go: a view moves its selection by itself then
        checkpoints.refreshed.connect(self.arrange)
        library.refreshed.connect(self._on_library)

    def set_stretches(self, stretches: Sequence[Stretch]) -> None:
        """Hang what the run shown has set aside below its checkpoints."""
        self._stretches = tuple(stretches)
        self.arrange()

    def set_note(self, words: str) -> None:
        """What is said below a run from which the one shown was branched, while that has no checkpoint of its own."""
        if words != self._note:
            self._note = words
            self.arrange()

    def forget(self) -> None:
        """Another run is shown."""
        for each in self._opened.values():
            each.set_folder(None)  # what is being read for it arrives yet
            each.deleteLater()
        self._opened = {}
        self._stretches = ()
        self.arrange()

    def refresh(self) -> None:
        """Read the branches that are open once more."""
        for each in self._opened.values():
            each.refresh()

    @Slot()
    def _on_library(self) -> None:
        self.refresh()
        self.arrange()

    @Slot()
    def arrange(self) -> None:
        """Bring the rows to what is known now; where a view answers a row that comes or goes, once more when all stand."""
        self._stale = True
        if self.replacing:
            return
        while self._stale:
            self._stale = False
            self.replacing = True
            self._settle(self._top, self._plan())
            self.replacing = False
            self.arranged.emit()

    def _plan(self) -> list[Wanted]:
        folder = self._own.folder
        if folder is None:
            return []
        wanted = self._arrange_run(self._own, (folder,), self._stretches)
        parent = find_parent(self._library, folder)
        if parent is None:
            return wanted
        if self._note and not self._own.checkpoints:
            wanted.insert(0, Wanted(Note(self._note), folder, "", ()))
        return [Wanted(parent, parent.folder, "", wanted)]

    def _arrange_run(
        self, checkpoints: CheckpointList, way: tuple[RunFolder, ...], stretches: Sequence[Stretch] = ()
    ) -> list[Wanted]:
        """Newest first. What began at a checkpoint is below it, or where that would stand. ``way``: the run, and those that lead to
        it, which are no branches of it whatever their records say."""
        branches = [branch for branch in list_branches(self._library, way[0]) if branch.folder not in way]
        others: list[Row] = [*branches, *stretches]
        steps = {info.step for info in checkpoints.checkpoints}
        rows = [*checkpoints.checkpoints, *(row for row in others if _begins_at(row) not in steps)]
        return [
            self._arrange_other(row, way)
            if not isinstance(row, CheckpointInfo)
            else Wanted(
                row,
                way[0],
                checkpoints.monitor,
                [self._arrange_other(each, way) for each in others if _begins_at(each) == row.step],
            )
            for row in sorted(rows, key=_begins_at, reverse=True)
        ]

    def _arrange_other(self, row: Row, way: tuple[RunFolder, ...]) -> Wanted:
        if not isinstance(row, Branch):
            return Wanted(row, way[0], "", ())
        opened = self._opened.get(row.folder)
        below = self._arrange_run(opened, (row.folder, *way)) if opened is not None else []
        if opened is not None and not opened.checkpoints:
            words = READING if not opened.loaded else opened.problem or START_OVER.kept
            below = [Wanted(Note(words), row.folder, "", ()), *below]
        return Wanted(row, row.folder, "", below)

    def _settle(self, node: _Node, wanted: Sequence[Wanted]) -> None:
        keys = {each.key for each in wanted}
        for at in reversed(range(len(node.below))):
            if node.below[at].wanted.key not in keys:
                self._remove(node, at)
        for at, each in enumerate(wanted):
            if at == len(node.below) or node.below[at].wanted.key != each.key:
                old = next(
                    (there for there in range(at, len(node.below)) if node.below[there].wanted.key == each.key), -1
                )
                if old >= 0:  # a checkpoint came or went beside it
                    self._remove(node, old)
                self.beginInsertRows(self._index_of(node), at, at)
                made = _Node(next(self._numbers), each, node)
                self._nodes[made.number] = made
                node.below.insert(at, made)
                self.endInsertRows()
            child = node.below[at]
            changed = child.wanted[:3] != each[:3]
            child.wanted = each
            if changed:
                self.dataChanged.emit(self._index_of(child), self._index_of(child))
            self._settle(child, each.below)

    def _remove(self, node: _Node, at: int) -> None:
        self.beginRemoveRows(self._index_of(node), at, at)
        for gone in node.below.pop(at).walk():
            del self._nodes[gone.number]
        self.endRemoveRows()

    # ------------------------------------------------------------------------------------------- finding

    def find(self, row: Row) -> QModelIndex:
        """Where ``row`` stands; an index that is not valid where it does not."""
        return self._find(lambda wanted: wanted.row == row)

    def find_key(self, key: str) -> QModelIndex:
        """The row with this KEY_ROLE."""
        return self._find(lambda each: key_of(each.run, each.key) == key)

    def find_checkpoint(self, name: str) -> QModelIndex:
        """The checkpoint of the run shown in the folder of this name."""
        return self.find_key(key_of(self._own.folder, name)) if self._own.folder is not None else ROOT

    def _find(self, fits: Callable[[Wanted], bool]) -> QModelIndex:
        return next((self._index_of(node) for node in self._top.walk() if node.above and fits(node.wanted)), ROOT)

    def _index_of(self, node: _Node) -> QModelIndex:
        return self.createIndex(node.above.below.index(node), 0, node.number) if node.above else ROOT

    def _node_of(self, index: Index) -> _Node:
        return self._nodes.get(index.internalId(), self._top) if index.isValid() else self._top

    # ------------------------------------------------------------------------------------------ Qt's model

    def index(self, row: int, column: int = 0, parent: Index = ROOT) -> QModelIndex:
        below = self._node_of(parent).below
        return self.createIndex(row, column, below[row].number) if 0 <= row < len(below) and column == 0 else ROOT

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        above = self._node_of(index).above
        return self._index_of(above) if above else ROOT

    def rowCount(self, parent: Index = ROOT) -> int:
        return len(self._node_of(parent).below)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 1

    def hasChildren(self, parent: Index = ROOT) -> bool:
        return self.rowCount(parent) > 0 or self.canFetchMore(parent)

    def canFetchMore(self, parent: Index) -> bool:
        row = self._node_of(parent).wanted.row
        return isinstance(row, Branch) and not row.is_parent and row.folder not in self._opened

    def fetchMore(self, parent: Index) -> None:
        row = self._node_of(parent).wanted.row
        if self.canFetchMore(parent) and isinstance(row, Branch):
            opened = self._opened[row.folder] = CheckpointList(self._background, self)
            opened.refreshed.connect(self.arrange)
            opened.set_folder(row.folder)
            self.arrange()

    def flags(self, index: Index) -> Qt.ItemFlag:
        if isinstance(self._node_of(index).wanted.row, Note):
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        wanted = self._node_of(index).wanted
        if role == ROW_ROLE:
            return wanted.row
        if role == RUN_ROLE:
            return wanted.run
        if role == KEY_ROLE:
            return key_of(wanted.run, wanted.key)
        if role == WORTH_ROLE and isinstance(wanted.row, CheckpointInfo):
            return describe_worth(wanted.row, wanted.monitor)
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return _describe(wanted)
        return _explain(wanted) if role == Qt.ItemDataRole.ToolTipRole else None


class _Node:
    """A row that stands in the tree; ``number`` tells Qt which."""

    __slots__ = ("above", "below", "number", "wanted")

    def __init__(self, number: int, wanted: Wanted, above: _Node | None) -> None:
        self.number, self.wanted, self.above = number, wanted, above
        self.below: list[_Node] = []

    def walk(self) -> Iterator[_Node]:
        """Itself and all below."""
        yield self
        for each in self.below:
            yield from each.walk()


def _describe(wanted: Wanted) -> str:
    row = wanted.row
    if isinstance(row, CheckpointInfo):
        worth = describe_worth(row, wanted.monitor).split(" · ")
        return ", ".join([f"Step {row.step:,}", *row.labels, *epochs(row), *worth])
    if isinstance(row, Branch):
        return f"{row.words}, {row.status}"
    return row.words


def _explain(wanted: Wanted) -> str:
    row = wanted.row
    if isinstance(row, CheckpointInfo):
        return f"{', '.join([describe_worth(row, wanted.monitor), *epochs(row)])}\n{row.path}"
    return (
        f"Double-click, or press Enter, to open this run\n{row.folder.path}" if isinstance(row, Branch) else row.words
    )
