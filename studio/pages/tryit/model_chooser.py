"""Which model is asked: a checkpoint of the run shown, or an export."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from studio.state.context import AppContext
from studio.state.runs.checkpoint_list import CheckpointList, epochs
from studio.state.runs.way_on import describe_lack
from studio.theme import SPACING
from studio.widgets import STRETCH, ComboBox, button, hbox
from training.runs.folder import RunFolder
from training.runs.records.manifest import BEST, CheckpointInfo


class ModelChooser(QWidget):
    """Follows ``context.model_to_try``, which the choices change, and the run that is shown.

    Signals: `listed()`: ``lack`` is as new as the run's folder.
    """

    listed = Signal()

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._checkpoints = CheckpointList(context.background, self)
        self._seen: RunFolder | None = None  # the run that was shown last
        self.steps = ComboBox()
        self.steps.setAccessibleName("Checkpoint")
        self.open_export = button("Open export …", "folder", tooltip="Ask a model that was exported to a folder")
        self.steps.setMinimumWidth(160)
        hbox((self.steps, 2), STRETCH, self.open_export, parent=self, spacing=SPACING.s)
        self.steps.currentIndexChanged.connect(self._on_step_chosen)
        self.open_export.clicked.connect(self._on_open_export)
        self._checkpoints.refreshed.connect(self._list_steps)
        context.shown.attached.connect(self._look_again)
        context.model_to_try.changed.connect(self._show_choice)
        if context.model_to_try.path is not None:
            self._seen = context.shown.run.folder
        self._show_choice()

    @Slot()
    def _look_again(self) -> None:
        """Another run is shown: ask its best checkpoint."""
        folder = self._context.shown.run.folder
        if not self.isVisible() or folder is None or folder == self._seen:
            return
        self._seen = folder
        if self._run_of(self._context.model_to_try.path) != folder:
            self._checkpoints.set_folder(folder)
            self._context.model_to_try.choose(None)  # until its checkpoints are read
            self._list_steps()

    def refresh(self) -> None:
        """It may be another run, or have saved more by now."""
        self._look_again()
        self._checkpoints.refresh()

    @property
    def lack(self) -> str:
        """Why the run that ended has no checkpoint to ask; "" while it may have one."""
        read = self._checkpoints
        if read.folder is None or not read.loaded or read.checkpoints or self._context.shown.is_at_work(read.folder):
            return ""
        return read.problem or describe_lack(read.folder)

    def _run_of(self, path: Path | None) -> RunFolder | None:
        """The run whose checkpoint is chosen; None of an export."""
        return RunFolder(path.parent.parent) if path is not None and path.parent.name == "checkpoints" else None

    @Slot()
    def _show_choice(self) -> None:
        path = self._context.model_to_try.path
        folder = self._run_of(path) or (self._checkpoints.folder if path is None else None)
        if folder is not None:
            self._follow_run(folder)
        elif path is not None:  # an export, beside the checkpoints of the run that is shown
            self._checkpoints.set_folder(self._context.shown.run.folder)
            self._list_steps()

    def _follow_run(self, folder: RunFolder) -> None:
        if folder != self._checkpoints.folder:
            self._checkpoints.set_folder(folder)
        self._list_steps()

    @Slot()
    def _list_steps(self) -> None:
        path = self._context.model_to_try.path
        known = self._checkpoints.checkpoints
        with QSignalBlocker(self.steps):
            self.steps.clear()
            for info in known:
                self.steps.addItem(", ".join([f"Step {info.step:,}", *info.labels, *epochs(info)]), info.path)
            at = next((row for row, info in enumerate(known) if info.path == path), -1)
            self.steps.setCurrentIndex(at)
        none = "No checkpoint" if self._checkpoints.loaded and not known else "Choose a checkpoint"
        is_export = path is not None and self._run_of(path) is None
        self.steps.setPlaceholderText(f"Export {path.name}" if path is not None and is_export else none)
        folder = self._checkpoints.folder
        chosen = self._run_of(path)
        if known and folder is not None and chosen != folder and (path is None or chosen is not None):
            self._context.model_to_try.choose(self._find_best(known).path)
        self.listed.emit()

    @staticmethod
    def _find_best(known: tuple[CheckpointInfo, ...]) -> CheckpointInfo:
        return next((info for info in known if BEST in info.labels), known[0])

    @Slot(int)
    def _on_step_chosen(self, row: int) -> None:
        path = self.steps.itemData(row)
        if path is not None:
            self._context.model_to_try.choose(path)

    @Slot()
    def _on_open_export(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, "Open the folder of an export", str(Path.home()))
        if chosen:
            self._context.model_to_try.choose(Path(chosen))
