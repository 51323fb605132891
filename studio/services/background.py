"""Short work outside the GUI thread (reading folders, deleting files), with its answer back in the GUI thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal, Slot

logger = logging.getLogger(__name__)


class _Answer(QObject):
    """Carries a result into the thread it was made in: its slots are methods, so Qt queues them there."""

    succeeded = Signal(object)
    failed = Signal(object)

    def __init__(
        self, done: Callable[[Any], object], on_failure: Callable[[Exception], object], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._done = done
        self._on_failure = on_failure
        self.succeeded.connect(self._on_succeeded)
        self.failed.connect(self._on_failed)

    @Slot(object)
    def _on_succeeded(self, result: object) -> None:
        self.deleteLater()
        self._done(result)

    @Slot(object)
    def _on_failed(self, error: Exception) -> None:
        self.deleteLater()
        self._on_failure(error)


class _Work(QRunnable):
    def __init__(self, work: Callable[[], Any], answer: _Answer) -> None:
        super().__init__()
        self._work = work
        self._answer = answer

    def run(self) -> None:
        try:
            result = self._work()
        except Exception as error:
            logger.info("Background work failed", exc_info=True)
            self._answer.failed.emit(error)
        else:
            self._answer.succeeded.emit(result)


class Background(QObject):
    """Runs callables one after another in a thread of its own."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)

    def submit(
        self, work: Callable[[], Any], done: Callable[[Any], object], failed: Callable[[Exception], object]
    ) -> None:
        """Run ``work``; then ``done(result)`` or ``failed(error)`` in the GUI thread. ``work`` must touch no widget."""
        self._pool.start(_Work(work, _Answer(done, failed, self)))

    @Slot()
    def close(self) -> None:
        """Drop what has not begun and wait for what has (file operations of a moment)."""
        self._pool.clear()
        self._pool.waitForDone()
