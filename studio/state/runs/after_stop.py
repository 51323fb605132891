"""What is to be done as soon as the run at work has stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Slot

from studio.engine.state import ENDED
from studio.state.runs.live_run import LiveRun

_AGAIN = 200  # milliseconds


class AfterStop(QObject):
    """Waits for the end of ``live``; ``find_problem`` says why nothing can be trained yet, "" when it can."""

    def __init__(self, live: LiveRun, find_problem: Callable[[], str], parent: QObject) -> None:
        super().__init__(parent)
        self._live, self._find_problem = live, find_problem
        self._waiting: tuple[Path, Callable[[], object]] | None = None

    def expect(self, folder: Path, begin: Callable[[], object]) -> None:
        """Once the run in ``folder`` has stopped, ``begin``, unless another run is followed by then."""
        self._waiting = (folder, begin)

    @Slot()
    def look(self) -> None:
        """Something changed: it may have stopped."""
        if self._waiting is None or self._live.state not in ENDED or self._find_problem():
            return
        if self._live.owner is not None:  # one that is not our engine lets go of the run a moment after it told its end
            QTimer.singleShot(_AGAIN, self, self.look)
            return
        (folder, begin), self._waiting = self._waiting, None
        if self._live.folder is not None and self._live.folder.path == folder:
            # Later: who else hears of the end of the run must have heard of it before the next one begins.
            QTimer.singleShot(0, self, begin)
