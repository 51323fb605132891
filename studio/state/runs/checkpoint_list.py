"""The checkpoints of one run, read in the background, and what each is worth in words."""

from __future__ import annotations

import logging
import time

from PySide6.QtCore import QObject, Signal, Slot

from studio.services.background import Background
from studio.state.formats import format_metric, metric_title
from training.config import RunConfig
from training.errors import TrainingError, format_bytes, pluralize
from training.runs.folder import RunFolder
from training.runs.records.manifest import BEST, NO_BEST, CheckpointInfo, list_checkpoints

logger = logging.getLogger(__name__)

READING = "Reading the checkpoints …"


class CheckpointList(QObject):
    """Newest first.

    Signals:
        refreshed(): the list was read again.
    """

    refreshed = Signal()

    def __init__(self, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = background
        self._config: RunConfig | None = None
        self.folder: RunFolder | None = None
        self.checkpoints: tuple[CheckpointInfo, ...] = ()
        self.loaded = False  # whether the folder was read since it was set
        self.problem = ""  # why it could not be read last time

    @property
    def monitor(self) -> str:
        """The metric by which the run finds its best checkpoint; "" while that is not known."""
        return self._config.monitor if self._config else ""

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
        if self.folder is not None and not self.loaded:
            return READING
        return "" if self.find_labeled(BEST) else f"{NO_BEST[0].upper()}{NO_BEST[1:]}."

    def set_folder(self, folder: RunFolder | None) -> None:
        """List another run's checkpoints."""
        if folder != self.folder:
            self.folder, self._config = folder, None
            self.checkpoints, self.loaded, self.problem = (), False, ""
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Read the folder again."""
        folder, config = self.folder, self._config
        if folder is not None:
            self._background.submit(
                lambda: (list_checkpoints(folder), config or _config_of(folder)),
                lambda read: self._on_read(folder, *read),
                lambda error: self._on_failed(folder, error),
            )

    def _on_read(
        self, folder: RunFolder, found: list[CheckpointInfo], config: RunConfig | None, problem: str = ""
    ) -> None:
        if folder == self.folder:
            self._config, self.loaded, self.problem = config, True, problem
            self.checkpoints = tuple(found)
            self.refreshed.emit()

    def _on_failed(self, folder: RunFolder, error: Exception) -> None:
        logger.warning("The checkpoints could not be listed: %s", error)
        self._on_read(folder, [], self._config, f"The checkpoints cannot be read: {error}")


def epochs(info: CheckpointInfo) -> list[str]:
    """How many whole epochs lie before it, where there are any."""
    return [pluralize(info.epoch, "epoch")] if info.epoch else []


def describe_worth(info: CheckpointInfo, monitor: str) -> str:
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
