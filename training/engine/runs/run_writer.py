"""What an attempt has in its hands while it works on a run folder: the claim, the event log, the status record."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from training.control import Control
from training.copies.sidecar import start_copier
from training.engine.device import describe_device
from training.engine.runs.hooks import Hooks
from training.engine.runs.status import StatusBook
from training.engine.session import Session
from training.environment import Environment
from training.errors import InputError, TrainingError
from training.events import (
    FINAL_EVENTS,
    AttemptStarted,
    CheckpointSaved,
    EpochEnded,
    Event,
    Finding,
    PhaseChanged,
    warn,
)
from training.findings import without_muted
from training.runs.folder import RunFolder
from training.runs.index.recorder import IndexRecorder
from training.runs.owner import Heartbeat, claim, release
from training.runs.records.history import EventLog
from training.runs.rewind import Beyond, SetAside, rewind
from training.runs.storage import explain_disk_errors, free_reserve, is_gone, keep_reserve, remove_leftovers
from training.tracking.sidecar import start_sidecar

logger = logging.getLogger(__name__)


class QuietFileHandler(logging.FileHandler):
    """Leaves out what a full disk does not take, instead of printing a traceback about it."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Nothing: the run's own writing tells of the fault."""

    def close(self) -> None:
        """Closed even if the last lines find no room."""
        with suppress(OSError):  # as in ``handleError``; the file itself is closed by then
            super().close()


class RunWriter:
    """Entered, the folder is ours alone; left, everything is closed and other processes may work on it.

    Raises RunBusyError on entering when another live process works there.
    """

    def __init__(self, folder: RunFolder, hooks: Hooks) -> None:
        self.folder = folder
        self.hooks = hooks
        self.environment = Environment()  # what the attempt runs on, once that is known
        self.changes: tuple[str, ...] = ()  # what the attempt does otherwise than the run's own configuration says
        self.muted: tuple[str, ...] = ()  # findings that nobody wants to hear of
        self.phase = ""  # what the engine is busy with, as it told last
        self._is_followed = False

    def __enter__(self) -> Self:
        claim(self.folder.path)
        with ExitStack() as undo:
            undo.callback(release, self.folder.path)
            with explain_disk_errors(self.folder.events_file):
                self._open_files(undo)
            heart = Heartbeat(self.folder.path, self._lose)
            undo.callback(heart.stop)
            self._recorder = IndexRecorder(self.folder) if self.hooks.followed else None
            self._undo = undo.pop_all()
        return self

    def _open_files(self, undo: ExitStack) -> None:
        remove_leftovers(self.folder.path)
        self._log = EventLog(self.folder.events_file)
        undo.callback(lambda: self._log.close())  # whichever it is by then
        handler = QuietFileHandler(self.folder.log_file, encoding="utf-8")
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        undo.callback(handler.close)
        logging.getLogger("training").addHandler(handler)
        undo.callback(logging.getLogger("training").removeHandler, handler)
        self.book = StatusBook(self.folder)
        keep_reserve(self.folder.path)
        undo.callback(free_reserve, self.folder.path)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._undo.close()
        finally:
            if self._recorder is not None:
                self._recorder.finish(write=not self.book.lost)

    def _lose(self, fault: TrainingError) -> None:
        self.book.lost = not is_gone(self.folder.path)  # it is there, so another process has it: write nothing more
        self.control.give_up(fault)

    @property
    def saved(self) -> bool:
        """Whether the run has a checkpoint to go on from."""
        return self.book.record.last_checkpoint is not None

    @property
    def step(self) -> int:
        """Where the run stands before its first step here."""
        return self.book.record.step

    @property
    def control(self) -> Control:
        """What the person asks for."""
        return self.hooks.control

    def emit(self, event: Event) -> None:
        """Write ``event`` down, bring the status up to date, tell who watches.

        Raises TrainingError when it cannot be written. The last event of a run is told all the same: that the disk is
        full must not hide why the run ended.
        """
        if isinstance(event, Finding) and not without_muted([event], self.muted):
            return
        if isinstance(event, PhaseChanged):
            self.phase = event.phase
        last = isinstance(event, FINAL_EVENTS)
        if last:
            free_reserve(self.folder.path)
        if not self.book.lost:
            try:
                with explain_disk_errors(self.folder.events_file):
                    self._log.emit(event)
            except TrainingError as error:
                if not last:
                    raise
                logger.warning("The end of the run could not be written down: %s", error)
        self.book.note(event)
        if self._recorder is not None and isinstance(event, EpochEnded | CheckpointSaved):
            self._recorder.notice()
        self.tell(self.hooks.watch, event)

    def set_phase(self, name: str) -> str:
        """Tell what the engine is busy with, where that is news; returns what it was before."""
        before = self.phase
        if name != before:
            self.emit(PhaseChanged(phase=name))
        return before

    def tell(self, listener: Callable[..., None], *news: Any) -> None:
        """Call ``listener``; one that is gone (a closed terminal or pipe) ends no run."""
        try:
            listener(*news)
        except OSError as error:
            logger.warning("Nobody hears of the run any more: %s", error)

    def announce(
        self,
        session: Session,
        attempt: int,
        checkpoint: Path | None,
        changes: tuple[str, ...] = (),
        device_note: str = "",
    ) -> None:
        """Say that a stretch of work begins where ``session`` stands: what was told of later steps is void."""
        self.emit(
            AttemptStarted(
                attempt=attempt,
                step=session.progress.step,
                total_steps=session.total_steps,
                steps_per_epoch=session.data.steps_per_epoch,
                epochs=session.config.loop.epochs,
                device=describe_device(session.device),
                checkpoint=str(checkpoint) if checkpoint else None,
                changes=(*self.changes, *changes),
                environment=self.environment,
                parameters=session.count_parameters(),
                device_note=device_note,
            )
        )

    def rewind(self, beyond: Beyond) -> SetAside:
        """Take the run back to a checkpoint, setting aside what lies beyond; what was told of that is void."""
        self._log.close()  # another file takes its place
        try:
            return rewind(self.folder, beyond)
        finally:
            self.book.read_again()
            self._log = EventLog(self.folder.events_file)

    def open(self) -> None:
        """Say that work begins: the run's folder is told, its commands are followed, its status is running."""
        self.hooks.started(self.folder)
        self.control.watch(self.folder.path)
        self.book.write(status="running", reason=None, advice=None, fix={})
        if self._recorder is not None:
            self._recorder.notice()

    def begin_followers(self) -> None:
        """Have the run sent to trackers and copied: it is one that stays."""
        if self._recorder is None or self._is_followed:
            return
        self._is_followed = True
        try:
            start_sidecar(self.folder, self.hooks.trackers)
        except (InputError, OSError) as error:  # no run fails for want of an audience
            self.emit(warn(f"The run is not sent to trackers: {error}", "python -m training track sends it later."))
        try:
            start_copier(self.folder, self.hooks.copy_to)
        except (InputError, OSError) as error:
            self.emit(warn(f"The run is not copied: {error}", "python -m training copy copies it later."))
