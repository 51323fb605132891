"""Short work outside the GUI thread (reading folders, deleting files), with its answer back in the GUI thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal, Slot

logger = logging.getLogger(__name__)


class _Work(QRunnable):
    """Runs ``work`` and hands the callback that fits its outcome, with the outcome, to ``deliver``."""

    def __init__(
        self,
        work: Callable[[], Any],
        done: Callable[[Any], object],
        failed: Callable[[Exception], object],
        deliver: Callable[[object], None],
    ) -> None:
        super().__init__()
        self._work, self._done, self._failed, self._deliver = work, done, failed, deliver

    def run(self) -> None:
        try:
            result = self._work()
        except Exception as error:  # the border between threads: the caller decides what it means
            logger.info("Background work failed", exc_info=True)
            self._deliver((self._failed, error))
        else:
            self._deliver((self._done, result))


class Background(QObject):
    """Runs callables one after another in a thread of its own. Must be closed before it is dropped.

    One object emits for all work: an object of each job's own could be deleted here while its thread is still inside
    the emission.
    """

    _worked = Signal(object)  # (callback, outcome), queued into the GUI thread

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self, maxThreadCount=1)
        self._closed = False
        self._worked.connect(self._on_worked)

    def submit(
        self, work: Callable[[], Any], done: Callable[[Any], object], failed: Callable[[Exception], object]
    ) -> None:
        """Run ``work``; then ``done(result)`` or ``failed(error)`` in the GUI thread. ``work`` must touch no widget."""
        if not self._closed:
            self._pool.start(_Work(work, done, failed, self._worked.emit))

    @Slot()
    def close(self) -> None:
        """Drop what has not begun, wait for what has (file operations of a moment), deliver nothing more."""
        self._closed = True
        self._pool.clear()
        self._pool.waitForDone()

    @Slot(object)
    def _on_worked(self, outcome: tuple[Callable[[Any], object], Any]) -> None:
        callback, value = outcome
        if not self._closed:
            callback(value)
