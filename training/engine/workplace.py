"""What an attempt has in its hands while it works on a run folder: the claim, the event log, the status record."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Self

from training.control import Control
from training.engine.hooks import Hooks
from training.engine.status import StatusBook
from training.events import Event, PhaseChanged
from training.runs.folder import RunFolder, claim, release
from training.runs.history import EventLog
from training.runs.index import index_run


class Workplace:
    """Entered, the folder is ours alone; left, everything is closed and other processes may work on it.

    Raises RunBusyError on entering when another live process works there.
    """

    def __init__(self, folder: RunFolder, hooks: Hooks) -> None:
        self.folder = folder
        self.hooks = hooks
        self.phase = ""  # what the engine is busy with, as it told last

    def __enter__(self) -> Self:
        claim(self.folder)
        self._log = EventLog(self.folder.events_file)
        self._handler = logging.FileHandler(self.folder.log_file, encoding="utf-8")
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.getLogger("training").addHandler(self._handler)
        self.book = StatusBook(self.folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._log.close()
        logging.getLogger("training").removeHandler(self._handler)
        self._handler.close()
        release(self.folder)
        index_run(self.folder)

    @property
    def control(self) -> Control:
        """What the person asks for."""
        return self.hooks.control

    def emit(self, event: Event) -> None:
        """Write ``event`` down, bring the status up to date, tell who watches."""
        if isinstance(event, PhaseChanged):
            self.phase = event.phase
        self._log.emit(event)
        self.book.note(event)
        self.hooks.watch(event)

    def open(self) -> None:
        """Say that work begins: the run's folder is told, its commands are followed, its status is running."""
        self.hooks.started(self.folder)
        self.control.watch(self.folder.path)
        self.book.write(status="running", reason=None, advice=None, fix={})
        index_run(self.folder)
