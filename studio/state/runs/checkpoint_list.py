"""The checkpoints of one run as a list model, with the branches that begin at them; the folder is read in the background, and what each is worth said in words."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from studio.services.background import Background
from studio.state.formats import format_metric, metric_title
from studio.state.runs.run_library import RunLibrary, RunSummary
from training.config import RunConfig
from training.errors import TrainingError, format_bytes, pluralize
from training.runs.folder import RunFolder
from training.runs.records.manifest import BEST, NO_BEST, CheckpointInfo, list_checkpoints

logger = logging.getLogger(__name__)

CHECKPOINT_ROLE = Qt.ItemDataRole.UserRole
FACTS_ROLE = Qt.ItemDataRole.UserRole + 1
"""What a checkpoint is worth, in one line."""

BRANCH_ROLE = Qt.ItemDataRole.UserRole + 2
"""A Branch; None for a checkpoint."""

READING = "Reading the checkpoints …"

Index = QModelIndex | QPersistentModelIndex

ROOT = QModelIndex()


@dataclass(frozen=True)
class Branch:
    """A run that begins at ``step`` of this one; ``is_parent``: the run that this one was branched from, at that step of its own.
    ``step`` is None where it began without a checkpoint."""

    folder: RunFolder
    title: str
    status: str
    step: int | None
    is_parent: bool = False

    @property
    def name(self) -> str:
        """What tells its row from those of checkpoints."""
        return f"run {self.folder.id}"

    @property
    def words(self) -> str:
        """What the row says."""
        at = f" at step {self.step:,}" if self.step is not None else ""
        return f"Branched from “{self.title}”{at}" if self.is_parent else f"Branch “{self.title}”"


def list_branches(library: RunLibrary, folder: RunFolder | None) -> list[Branch]:
    """The runs that were branched from the one in ``folder``, and the one that it was branched from, as the list of runs has them."""
    own = library.find(folder.id) if folder is not None else None
    if own is None:
        return []
    found = [
        Branch(run.folder, library.title_of(run), run.status, _step_of(run))
        for run in library.runs
        if run.parent == own.id and run.id != own.id
    ]
    parent = library.find(own.parent) if own.parent else None
    if parent is not None:
        found.append(Branch(parent.folder, library.title_of(parent), parent.status, _step_of(own), is_parent=True))
    return found


def _step_of(run: RunSummary) -> int | None:
    parent = run.record.parent
    match = re.search(r"step-([0-9]+)[\\/]*$", (parent.checkpoint if parent else None) or "")
    return int(match[1]) if match else None


class CheckpointListModel(QAbstractListModel):
    """Newest first. Below each checkpoint stand the branches that begin there, and at the end the run that this one was branched from.

    Signals:
        refreshed(): the list was read again.
    """

    refreshed = Signal()

    def __init__(self, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = background
        self._folder: RunFolder | None = None
        self._rows: list[CheckpointInfo | Branch] = []
        self._branches: tuple[Branch, ...] = ()
        self._config: RunConfig | None = None
        self.loaded = False  # whether the folder was read since it was set
        self.replacing = False  # rows come and go: a view moves its selection by itself then

    @property
    def folder(self) -> RunFolder | None:
        """The run whose checkpoints these are."""
        return self._folder

    @property
    def checkpoints(self) -> tuple[CheckpointInfo, ...]:
        """All of them, newest first."""
        return tuple(row for row in self._rows if isinstance(row, CheckpointInfo))

    def when_saved(self) -> str:
        """When the run's own settings save one, as the beginning of a sentence; "" while they are not known."""
        if self._config is None:
            return ""
        every = self._config.checkpoints.every_steps
        rhythm = f"every {pluralize(every, 'step')}" if every else "at the end of each epoch"
        return f"One is saved {rhythm}, whenever a validation is the best so far"

    def find_labeled(self, label: str) -> CheckpointInfo | None:
        """The checkpoint that carries ``label`` ("best", "last")."""
        return next((info for info in self.checkpoints if label in info.labels), None)

    @property
    def why_no_best(self) -> str:
        """Why there is no best one to export, as a sentence; "" where there is one."""
        if self._folder is not None and not self.loaded:
            return READING
        return "" if self.find_labeled(BEST) else f"{NO_BEST[0].upper()}{NO_BEST[1:]}."

    def row_of(self, name: str) -> int | None:
        """The row of a checkpoint by its folder's name."""
        return next((row for row, each in enumerate(self._rows) if each.name == name), None)

    def set_folder(self, folder: RunFolder | None) -> None:
        """Show another run's checkpoints."""
        if folder != self._folder:
            self._folder = folder
            self._config, self.loaded = None, False
            self._branches = ()
            self._replace([])
        self.refresh()

    def set_branches(self, branches: Sequence[Branch]) -> None:
        """Hang these below the checkpoints."""
        if tuple(branches) != self._branches:
            self._branches = tuple(branches)
            self._replace(self.checkpoints)

    def refresh(self) -> None:
        """Read the folder again."""
        folder, config = self._folder, self._config
        if folder is not None:
            self._background.submit(
                lambda: (list_checkpoints(folder), config or _config_of(folder)),
                lambda read: self._on_read(folder, *read),
                lambda error: self._on_failed(folder, error),
            )

    def _on_read(self, folder: RunFolder, found: list[CheckpointInfo], config: RunConfig | None) -> None:
        if folder == self._folder:
            self._config, self.loaded = config, True
            if tuple(found) != self.checkpoints:
                self._replace(found)
            self.refreshed.emit()

    def _on_failed(self, folder: RunFolder, error: Exception) -> None:
        logger.warning("The checkpoints could not be listed: %s", error)
        self._on_read(folder, [], self._config)

    def _replace(self, checkpoints: Sequence[CheckpointInfo]) -> None:
        self.replacing = True
        found = _hang(checkpoints, self._branches)
        names = {each.name for each in found}
        for row in reversed(range(len(self._rows))):
            if self._rows[row].name not in names:
                self._remove(row)
        for row, each in enumerate(found):
            if row < len(self._rows) and self._rows[row].name == each.name:
                if self._rows[row] != each:
                    self._rows[row] = each
                    self.dataChanged.emit(self.index(row), self.index(row))
            else:
                if (old := self.row_of(each.name)) is not None:  # a checkpoint came or went above a branch
                    self._remove(old)
                self.beginInsertRows(QModelIndex(), row, row)
                self._rows.insert(row, each)
                self.endInsertRows()
        self.replacing = False

    def _remove(self, row: int) -> None:
        self.beginRemoveRows(QModelIndex(), row, row)
        del self._rows[row]
        self.endRemoveRows()

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        info = self._rows[index.row()]
        if isinstance(info, Branch):
            return _tell_branch(info, role)
        if role == CHECKPOINT_ROLE:
            return info
        if role == FACTS_ROLE:
            return _facts(info, self._config.monitor if self._config else "")
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            facts = self.data(index, FACTS_ROLE).split(" · ")
            return ", ".join([f"Step {info.step:,}", *info.labels, *epochs(info), *facts])
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{', '.join([self.data(index, FACTS_ROLE), *epochs(info)])}\n{info.path}"
        return None


def _hang(checkpoints: Sequence[CheckpointInfo], branches: Sequence[Branch]) -> list[CheckpointInfo | Branch]:
    """Each branch below the checkpoint it begins at, or where that would stand."""
    parents = [branch for branch in branches if branch.is_parent]
    left = sorted(
        (each for each in branches if not each.is_parent), key=lambda each: -1 if each.step is None else each.step
    )
    rows: list[CheckpointInfo | Branch] = []
    for info in checkpoints:
        while left and (left[-1].step or 0) > info.step:
            rows.append(left.pop())
        rows.append(info)
        while left and left[-1].step == info.step:
            rows.append(left.pop())
    return [*rows, *reversed(left), *parents]


def _tell_branch(branch: Branch, role: int) -> object:
    if role == BRANCH_ROLE:
        return branch
    if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
        at = f" at step {branch.step:,}" if branch.step is not None and not branch.is_parent else ""
        return f"{branch.words}{at}, {branch.status}"
    if role == Qt.ItemDataRole.ToolTipRole:
        return f"Double-click, or press Enter, to open this run\n{branch.folder.path}"
    return None


def epochs(info: CheckpointInfo) -> list[str]:
    """How many whole epochs lie before it, where there are any."""
    return [pluralize(info.epoch, "epoch")] if info.epoch else []


def _facts(info: CheckpointInfo, monitor: str) -> str:
    """What the run's ``monitor`` was at this very step, size, time."""
    then, now = time.localtime(info.time), time.localtime()
    when = time.strftime("%H:%M" if then[:3] == now[:3] else "%Y-%m-%d %H:%M", then)
    return " · ".join((_describe_quality(info, monitor), format_bytes(info.size), when))


def _describe_quality(info: CheckpointInfo, monitor: str) -> str:
    judged = [name for name in info.metrics if name.startswith("val/")]
    if not judged or not info.validated:
        return "not validated"
    name = monitor if monitor in judged else next((name for name in judged if name != "val/loss"), judged[0])
    return f"{metric_title(name).removeprefix('validation ')} {format_metric(name, float(info.metrics[name]))}"


def _config_of(folder: RunFolder) -> RunConfig | None:
    try:
        return folder.config()
    except TrainingError as error:
        logger.warning("The settings of a run cannot be read: %s", error)
        return None
