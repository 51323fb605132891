"""Which checkpoints stay: the newest few, and whatever carries a label."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.checkpoints.snapshot import Snapshot, SnapshotMemory
from training.checkpoints.write import remove_checkpoint, remove_leftovers, write_checkpoint
from training.data.host_memory import host_memory
from training.errors import TrainingError
from training.events import CheckpointSaved
from training.runs.folder import RunFolder
from training.runs.manifest import (
    BEST,
    LAST,
    CheckpointInfo,
    Stamp,
    checkpoint_folders,
    checkpoint_name,
    list_checkpoints,
    read_labels,
    write_labels,
)
from training.runs.storage import is_gone, storage_error

logger = logging.getLogger(__name__)

_MOST_MEMORY = 1 << 30  # bytes of snapshots that wait to be written; one may be larger
_REST_SECONDS = 1.0  # between two beginnings, if all that waits is patient


@dataclass(eq=False)
class _Waiting:
    """A snapshot that is not written yet."""

    snapshot: Snapshot
    best: bool
    patient: bool
    since: float
    dropped: bool = False


class Keeper:
    """Writes snapshots in a thread of its own, one after the other, and tidies up behind them.

    A checkpoint is registered (label, event) only once it is durable. A fault in the thread (a full disk) is raised
    at the next ``save`` or ``finish``. Snapshots are made in ``memory``, which bounds how many wait.

    A small model gets better many times a second, and each checkpoint holds the interpreter's lock for 3 ms: a sixth of
    the time of a small MLP that was saved 45 times in two seconds. So those that nobody waits for (``patient``) begin
    once a second, together, and one that would be tidied away as soon as those behind it are written is dropped instead.
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
        self._pending: deque[Future[None]] = deque()
        self._waiting: deque[_Waiting] = deque()
        self._came = threading.Condition()
        self._urgent = False  # somebody waits for all that was handed over
        self._began = -math.inf  # when the thread last turned to all that waited
        self.memory = SnapshotMemory(min(_MOST_MEMORY, host_memory().available // 8))
        self._lock = threading.Lock()
        self.newest_step = -1  # step of the newest snapshot handed over in this attempt
        self._rolls_back = rolls_back
        self.row_is_open = False  # of skipped steps: a run that rolls back may go back to before it
        self._known: dict[Path, tuple[Stamp, CheckpointInfo]] = {}  # thousands may be kept: each is read once
        self._labels = read_labels(folder)  # from now on here: were the file damaged, the best would not be spared
        folder.checkpoints.mkdir(exist_ok=True)
        remove_leftovers(folder.checkpoints)

    def prepare(self, content: Any) -> None:
        """Make room for snapshots of such ``content`` before the first one is due."""
        self._pending.append(self._thread.submit(self.memory.prepare(content)))

    def save(
        self, snapshot: Snapshot, *, best: bool, patient: bool = False, first: Callable[[], None] = lambda: None
    ) -> None:
        """Queue ``snapshot``. ``first`` is called in the thread before: it makes durable what a checkpoint refers to.
        ``patient`` is one that may wait for a second, for better ones."""
        self._look_at(wait=False)
        self.newest_step = snapshot.step
        waiting = _Waiting(snapshot, best, patient, time.monotonic())
        with self._came:
            self._waiting.append(waiting)
            self._drop_outdated()
            waiting.patient = patient and not self.memory.is_scarce
            self._came.notify()
        self._pending.append(self._thread.submit(self._write, waiting, first))

    def finish(self) -> None:
        """Wait until everything handed over is on disk; raises what went wrong with it."""
        self._be_urgent(True)
        try:
            self._look_at(wait=True)
        finally:
            self._be_urgent(False)

    def _look_at(self, wait: bool) -> None:
        while self._pending and (wait or self._pending[0].done()):
            try:
                self._pending.popleft().result()
            except (OSError, RuntimeError) as error:  # torch has its own for a full disk
                why = storage_error(error, self._folder.checkpoints)
                raise TrainingError(f"A checkpoint could not be written. {why.message}", why.advice) from error

    def close(self) -> None:
        """Let go of the thread; what was handed over is finished first."""
        self._be_urgent(True)
        self._thread.shutdown(wait=True)
        for write in self._pending:  # nobody asks any more: the run ends for another reason
            if (error := write.exception()) is not None:
                logger.warning("A checkpoint could not be written: %s", error)

    def relabel(self, last: str, best_step: int | None) -> None:
        """Make the labels true after a resume from ``last``: it may lie further back, and a kill may have come between
        a checkpoint and its labels. "best" goes to the checkpoint of ``best_step``, or to none when that is gone."""
        with self._lock:
            labels = self._labels
            labels[LAST] = last
            if best_step is not None and (self._folder.checkpoints / checkpoint_name(best_step)).is_dir():
                labels[BEST] = checkpoint_name(best_step)
            else:
                labels.pop(BEST, None)
            write_labels(self._folder, labels)

    def cut(self, checkpoint: Path) -> None:
        """Go back to ``checkpoint``: what was handed over is finished, and all later checkpoints are deleted, because
        another stretch takes their place."""
        self.finish()
        for path in checkpoint_folders(self._folder):
            if path.name > checkpoint.name:
                remove_checkpoint(path)
        self.newest_step = int(checkpoint.name.rpartition("-")[2])
        self.row_is_open = False

    def best_path(self) -> Path | None:
        """Folder of the checkpoint labelled best."""
        path = self._folder.checkpoints / str(self._labels.get(BEST, ""))
        return path if BEST in self._labels and path.is_dir() else None

    def _be_urgent(self, urgent: bool) -> None:
        with self._came:
            self._urgent = urgent
            self._came.notify()

    def _drop_outdated(self) -> None:
        """Drop what those behind it will have the place of. A best one stays where a plain one follows: that will be
        written first, and were the run killed then, none would be the best. A run that rolls back needs all."""
        if self._rolls_back:
            return
        waiting = list(self._waiting)
        for place, one in enumerate(waiting[:-1], 1):
            behind = waiting[place:]
            newer = {other.snapshot.step for other in behind if other.snapshot.step > one.snapshot.step}
            if len(newer) >= self._keep_last and (not one.best or behind[0].best):
                self._drop(one)

    def _drop(self, one: _Waiting) -> None:
        one.dropped = True
        self._waiting.remove(one)
        one.snapshot.release()

    def abandon(self) -> None:
        """Write nothing more of what waits: the folder is not this process's any more."""
        with self._came:
            for one in list(self._waiting):
                self._drop(one)

    def _take(self, one: _Waiting) -> bool:
        """Wait until it is time for ``one``; returns whether it is to be written."""
        with self._came:
            if not one.dropped and one.since > self._began:  # it did not wait already while one before it did
                due = self._began + _REST_SECONDS - time.monotonic()
                self._came.wait_for(lambda: self._urgent or not all(it.patient for it in self._waiting), max(0.0, due))
                self._began = time.monotonic()
            if one.dropped:
                return False
            self._waiting.remove(one)
            return True

    def _write(self, waiting: _Waiting, first: Callable[[], None]) -> None:
        if not self._take(waiting):
            return
        snapshot = waiting.snapshot
        try:
            first()
            try:
                path = write_checkpoint(snapshot, self._folder.checkpoints)
            except FileNotFoundError:
                if is_gone(self._folder.path):
                    raise
                self._folder.checkpoints.mkdir(exist_ok=True)  # it alone was deleted meanwhile
                path = write_checkpoint(snapshot, self._folder.checkpoints)
        finally:
            snapshot.release()
        with self._lock:
            labels = self._labels
            labels[LAST] = path.name
            if waiting.best:
                labels[BEST] = path.name
            write_labels(self._folder, labels)
        self.tidy(snapshot.step)
        mine = tuple(label for label in (LAST, BEST) if labels.get(label) == path.name)
        self._on_saved(CheckpointSaved(step=snapshot.step, epoch=snapshot.epoch, checkpoint=path.name, labels=mine))

    def tidy(self, step: int) -> None:
        """Delete what is neither among the newest, nor labelled, nor what the run would roll back to: the newest that it
        planned itself, however many a person saved since.

        Checkpoints ahead of ``step`` stem from before a resume further back; they stay until the run passes them.
        """
        if self._rolls_back and self.row_is_open:  # what was the best before the row is needed again, too
            return
        behind = [info for info in list_checkpoints(self._folder, self._known) if info.step <= step]
        spared = next((info for info in behind if info.planned and self._rolls_back), None)
        for info in behind[self._keep_last :]:
            if info.labels or info is spared:
                continue
            try:
                remove_checkpoint(info.path)
            except OSError as error:  # Windows moves nothing that another program reads; the next tidying tries again
                logger.warning("%s was not deleted: %s", info.path, error)
