"""The checkpoints of one run as a list model; the folder is read in the background, and what each is worth said in words."""

from __future__ import annotations

import logging
import time
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from studio.services.background import Background
from studio.state.formats import format_metric, metric_title
from training.config import RunConfig
from training.errors import TrainingError, format_bytes, pluralize
from training.runs.folder import RunFolder
from training.runs.records.manifest import BEST, NO_BEST, CheckpointInfo, list_checkpoints

logger = logging.getLogger(__name__)

CHECKPOINT_ROLE = Qt.ItemDataRole.UserRole
FACTS_ROLE = Qt.ItemDataRole.UserRole + 1
"""What a checkpoint is worth, in one line."""

READING = "Reading the checkpoints …"

Index = QModelIndex | QPersistentModelIndex

ROOT = QModelIndex()


class CheckpointListModel(QAbstractListModel):
    """Newest first.

    Signals:
        refreshed(): the list was read again.
    """

    refreshed = Signal()

    def __init__(self, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = background
        self._folder: RunFolder | None = None
        self._checkpoints: list[CheckpointInfo] = []
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
        return tuple(self._checkpoints)

    def when_saved(self) -> str:
        """When the run's own settings save one, as the beginning of a sentence; "" while they are not known."""
        if self._config is None:
            return ""
        every = self._config.checkpoints.every_steps
        rhythm = f"every {pluralize(every, 'step')}" if every else "at the end of each epoch"
        return f"One is saved {rhythm}, whenever a validation is the best so far"

    def find_labeled(self, label: str) -> CheckpointInfo | None:
        """The checkpoint that carries ``label`` ("best", "last")."""
        return next((info for info in self._checkpoints if label in info.labels), None)

    @property
    def why_no_best(self) -> str:
        """Why there is no best one to export, as a sentence; "" where there is one."""
        if self._folder is not None and not self.loaded:
            return READING
        return "" if self.find_labeled(BEST) else f"{NO_BEST[0].upper()}{NO_BEST[1:]}."

    def row_of(self, name: str) -> int | None:
        """The row of a checkpoint by its folder's name."""
        return next((row for row, info in enumerate(self._checkpoints) if info.name == name), None)

    def set_folder(self, folder: RunFolder | None) -> None:
        """Show another run's checkpoints."""
        if folder != self._folder:
            self._folder = folder
            self._config, self.loaded = None, False
            self._replace([])
        self.refresh()

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
            if found != self._checkpoints:
                self._replace(found)
            self.refreshed.emit()

    def _on_failed(self, folder: RunFolder, error: Exception) -> None:
        logger.warning("The checkpoints could not be listed: %s", error)
        self._on_read(folder, [], self._config)

    def _replace(self, found: list[CheckpointInfo]) -> None:
        self.replacing = True
        names = {info.name for info in found}
        for row in reversed(range(len(self._checkpoints))):
            if self._checkpoints[row].name not in names:
                self.beginRemoveRows(QModelIndex(), row, row)
                del self._checkpoints[row]
                self.endRemoveRows()
        for row, info in enumerate(found):
            if row < len(self._checkpoints) and self._checkpoints[row].name == info.name:
                if self._checkpoints[row] != info:
                    self._checkpoints[row] = info
                    self.dataChanged.emit(self.index(row), self.index(row))
            else:
                self.beginInsertRows(QModelIndex(), row, row)
                self._checkpoints.insert(row, info)
                self.endInsertRows()
        self.replacing = False

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._checkpoints)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        info = self._checkpoints[index.row()]
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


def epochs(info: CheckpointInfo) -> list[str]:
    """How many whole epochs lie before it, where there are any."""
    return [pluralize(info.epoch, "epoch")] if info.epoch else []


def _facts(info: CheckpointInfo, monitor: str) -> str:
    """What the run's ``monitor`` was at this very step, size, time."""
    when = time.strftime("%H:%M", time.localtime(info.time))
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
