"""Which checkpoints stay: the newest few, and whatever carries a label."""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from training.checkpoints.snapshot import Copied, Snapshot, SnapshotMemory
from training.checkpoints.write import remove_checkpoint, remove_leftovers, write_checkpoint
from training.errors import TrainingError
from training.events import CheckpointSaved
from training.runs.folder import RunFolder
from training.runs.records.manifest import (
    BEST,
    LAST,
    checkpoint_folders,
    checkpoint_name,
    list_checkpoints,
    read_labels,
    write_labels,
)
from training.runs.storage import storage_error

logger = logging.getLogger(__name__)


class CheckpointManager:
    """Writes each snapshot in a thread of its own, and tidies up behind it.

    One at a time: whoever makes the next snapshot by ``copy`` waits until the one before is on disk. A checkpoint is
    registered (label, event) only once it is durable. A fault in the thread (a full disk) is raised at the next
    ``copy``, ``save`` or ``finish``.
    """

    def __init__(
        self,
        folder: RunFolder,
        keep_last: int,
        on_saved: Callable[[CheckpointSaved], None],
        rolls_back: bool = False,
    ) -> None:
        self._folder = folder
        self._keep_last = keep_last
        self._on_saved = on_saved
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint-writer")
        self._writing: Future[None] | None = None
        self._memory = SnapshotMemory()
        self.waited = 0.0  # seconds, by whoever made the newest copy, for the disk
        self.write_seconds = 0.0  # that the newest checkpoint took, until it was registered
        self._lock = threading.Lock()
        self.newest_step = -1  # step of the newest snapshot handed over in this attempt
        self._rolls_back = rolls_back
        self.row_is_open = False  # of skipped steps: a run that rolls back may go back to before it
        self._labels = read_labels(folder)  # from now on here: were the file damaged, the best would not be spared
        folder.checkpoints.mkdir(exist_ok=True)
        remove_leftovers(folder.checkpoints)

    def copy(self, content: Any) -> Copied:
        """A copy of ``content`` for the next snapshot. It takes the memory of the one before, so that has to be on disk
        first: however slow the disk, saving takes memory for one copy."""
        began = time.perf_counter()
        self.finish()
        self.waited = time.perf_counter() - began
        return self._memory.copy(content)

    def save(self, snapshot: Snapshot, *, best: bool, first: Callable[[], None] = lambda: None) -> None:
        """Have ``snapshot`` written. ``first`` is called in the thread before: it makes durable what a checkpoint refers
        to."""
        self.finish()
        self.newest_step = snapshot.step
        self._writing = self._thread.submit(self._write, snapshot, best, first)

    def finish(self) -> None:
        """Wait until what was handed over is on disk; raises what went wrong with it."""
        if self._writing is None:
            return
        try:
            self._writing.result()
        except OSError as error:
            if error.errno == errno.ENOMEM:  # as torch's own errors, no matter of the disk
                raise
            why = storage_error(error, self._folder.checkpoints)
            raise TrainingError(f"A checkpoint could not be written. {why.message}", why.advice) from error
        finally:
            if self._writing.done():  # else a second Ctrl+C came
                self._writing = None

    def close(self) -> None:
        """Let go of the thread; what was handed over is finished first."""
        self._thread.shutdown(wait=True)
        if self._writing is not None and (error := self._writing.exception()) is not None:
            logger.warning("A checkpoint could not be written: %s", error)  # the run ends for another reason

    def relabel(self, last: str, best_step: int | None) -> None:
        """Make the labels true after a resume from ``last``, since a kill may have come between a checkpoint and its labels, or
        after going back to it. "best" goes to the checkpoint of ``best_step``, or to none when that is gone."""
        with self._lock:
            labels = self._labels
            labels[LAST] = last
            if best_step is not None and (self._folder.checkpoints / checkpoint_name(best_step)).is_dir():
                labels[BEST] = checkpoint_name(best_step)
            else:
                labels.pop(BEST, None)
            write_labels(self._folder, labels)

    def rewind(self, checkpoint: Path) -> None:
        """Go back to ``checkpoint``: what was handed over is finished, and all later checkpoints are deleted, because
        another stretch takes their place."""
        self.finish()
        for path in checkpoint_folders(self._folder):
            if path.name > checkpoint.name:
                remove_checkpoint(path)
        self.newest_step = int(checkpoint.name.rpartition("-")[2])
        self.row_is_open = False

    def best_path(self) -> Path | None:
        """Folder of the checkpoint labeled best."""
        path = self._folder.checkpoints / str(self._labels.get(BEST, ""))
        return path if BEST in self._labels and path.is_dir() else None

    def _write(self, snapshot: Snapshot, best: bool, first: Callable[[], None]) -> None:
        began = time.perf_counter()
        first()
        self._folder.checkpoints.mkdir(exist_ok=True)  # somebody may have deleted it
        path = write_checkpoint(snapshot, self._folder.checkpoints)
        with self._lock:
            labels = self._labels
            labels[LAST] = path.name
            if best:
                labels[BEST] = path.name
            write_labels(self._folder, labels)
        self.prune(snapshot.step)
        self.write_seconds = time.perf_counter() - began
        mine = tuple(label for label in (LAST, BEST) if labels.get(label) == path.name)
        self._on_saved(CheckpointSaved(step=snapshot.step, epoch=snapshot.epoch, checkpoint=path.name, labels=mine))

    def prune(self, step: int) -> None:
        """Delete what is neither among the newest, nor labeled, nor what the run would roll back to: the newest that it
        planned itself, however many a person saved since.

        Checkpoints ahead of ``step`` are damaged, so that the run did not go on from them; they stay until it passes them.
        """
        if self._rolls_back and self.row_is_open:  # what was the best before the row is needed again, too
            return
        behind = [info for info in list_checkpoints(self._folder) if info.step <= step]
        spared = next((info for info in behind if info.planned and self._rolls_back), None)
        for info in behind[self._keep_last :]:
            if info.labels or info is spared:
                continue
            try:
                remove_checkpoint(info.path)
            except OSError as error:  # Windows moves nothing that another program reads; the next tidying tries again
                logger.warning("%s was not deleted: %s", info.path, error)
