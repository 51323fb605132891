"""The run in one record, kept true while it works."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from training.engine.session import Session
from training.events import AttemptStarted, CheckpointSaved, Completed, Event, Failed, PhaseChanged, Stopped, Validated
from training.runs.folder import RunFolder
from training.runs.records.forms import BestCheckpoint, StatusRecord
from training.runs.records.manifest import BEST, LAST, read_labels

logger = logging.getLogger(__name__)

FRESH_SECONDS = 0.5
"""How old the file may be while nothing happened but validations: an epoch of a small model takes a fiftieth of that, and
replacing a file as long as several of its steps."""


class StatusBook:
    """Writes ``status.json`` on rare events; the checkpoint writer's thread may do so too.

    Everything in it can be told from other files, so a record that cannot be written ends no run.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._record = folder.status()
        self.session: Session | None = None
        self.lost = False  # the folder is another process's now: the record lives on in memory only
        self.samples_per_second = 0.0
        self._written = 0.0
        self._worked = self._record.seconds or 0.0  # in earlier attempts, too, and never while paused
        self._since = time.monotonic()
        self._behind = False  # whether a validation was told since the file was written

    @property
    def record(self) -> StatusRecord:
        """The record as it stands."""
        return self._record

    def read_again(self) -> None:
        """Take over what the file says: the run may stand elsewhere now."""
        with self._lock:
            record = self._folder.status()
            if record.status:  # else neither the file nor the configuration can be read just now
                self._record = record

    def note(self, event: Event) -> None:
        """Bring the record up to date after ``event`` and write it."""
        if isinstance(event, PhaseChanged):
            status = "paused" if event.phase == "paused" else "running"
            if status != self._record.status:
                self.write(status=status)
        elif isinstance(event, Completed | Stopped | Failed):
            advice, fix = (event.advice, dict(event.fix)) if isinstance(event, Failed) else ("", {})
            reason = event.reason or None
            self.write(status=event.kind, ended=event.time, reason=reason, advice=advice or None, fix=fix)
        elif isinstance(event, Validated):
            self._behind = True
            self.catch_up()
        elif isinstance(event, CheckpointSaved | AttemptStarted):  # it may begin before where the last one was
            self.write()

    def catch_up(self) -> None:
        """Write the numbers of the last validation where the file lacks them and is old enough; asked at each flush."""
        if self._behind and time.monotonic() - self._written >= FRESH_SECONDS:
            self.write()

    def write(self, **changes: Any) -> None:
        """Refresh the numbers, apply ``changes`` and replace the file."""
        with self._lock:
            now = time.monotonic()
            if self._record.status != "paused":
                self._worked += now - self._since
            self._since = now
            numbers = self._numbers(self.session) if self.session is not None else {}
            seconds = {"seconds": round(self._worked, 3), "updated": time.time()}
            self._record = self._record.model_copy(update={**numbers, **changes, **seconds})
            if self.lost:
                return
            self._written = time.monotonic()
            self._behind = False
            try:
                self._folder.write_status(self._record)
            except OSError as error:
                logger.warning("The status record could not be written: %s", error)

    def _numbers(self, session: Session) -> dict[str, object]:
        progress = session.progress
        labels = read_labels(self._folder)
        best = None
        if progress.best_value is not None:
            best = BestCheckpoint(
                metric=session.config.monitor,
                value=progress.best_value,
                step=progress.best_step,
                checkpoint=self._path(labels.get(BEST)),
            )
        return {
            "step": progress.step,
            "epoch": progress.epoch,
            "epochs": session.config.loop.epochs,
            "total_steps": session.total_steps,
            "best": best,
            "last_checkpoint": self._path(labels.get(LAST)),
            "metrics": dict(progress.metrics),
            "skipped_steps": progress.skipped,
            "samples_per_second": round(self.samples_per_second, 1),
        }

    def _path(self, name: Any) -> str | None:
        path = self._folder.checkpoints / str(name)
        return str(path) if name and path.is_dir() else None
