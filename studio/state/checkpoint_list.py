"""The checkpoints of one run as a list model; the folder is read in the background."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from studio.services.background import Background
from training.errors import counted
from training.runs.folder import RunFolder
from training.runs.manifest import CheckpointInfo, Stamp, list_checkpoints

logger = logging.getLogger(__name__)

CHECKPOINT_ROLE = Qt.ItemDataRole.UserRole

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
        self._known: dict[Path, tuple[Stamp, CheckpointInfo]] = {}  # the background thread's: as read last
        self.replacing = False  # rows come and go: a view moves its selection by itself then

    @property
    def folder(self) -> RunFolder | None:
        """The run whose checkpoints these are."""
        return self._folder

    @property
    def checkpoints(self) -> tuple[CheckpointInfo, ...]:
        """All of them, newest first."""
        return tuple(self._checkpoints)

    def labelled(self, label: str) -> CheckpointInfo | None:
        """The checkpoint that carries ``label`` ("best", "last")."""
        return next((info for info in self._checkpoints if label in info.labels), None)

    def row_of(self, name: str) -> int | None:
        """The row of a checkpoint by its folder's name."""
        return next((row for row, info in enumerate(self._checkpoints) if info.name == name), None)

    def set_folder(self, folder: RunFolder | None) -> None:
        """Show another run's checkpoints."""
        if folder != self._folder:
            self._folder = folder
            self._replace([])
        self.refresh()

    def refresh(self) -> None:
        """Read the folder again."""
        folder = self._folder
        if folder is not None:
            self._background.submit(
                lambda: list_checkpoints(folder, self._known),
                lambda found: self._on_read(folder, found),
                self._on_failed,
            )

    def _on_read(self, folder: RunFolder, found: list[CheckpointInfo]) -> None:
        if folder == self._folder:
            if found != self._checkpoints:
                self._replace(found)
            self.refreshed.emit()

    def _on_failed(self, error: Exception) -> None:
        logger.warning("The checkpoints could not be listed: %s", error)

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
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            labels = f", {', '.join(info.labels)}" if info.labels else ""
            epochs = f", {counted(info.epoch, 'epoch')}" if info.epoch else ""
            return f"Step {info.step:,}{epochs}{labels}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return str(info.path)
        return None
