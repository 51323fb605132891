"""Short work outside the GUI thread (reading folders, deleting files), with its answer back in the GUI thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal, Slot

from training.errors import Canceled, TrainingError

logger = logging.getLogger(__name__)


class _Work(QRunnable):
    """Runs ``work`` and hands the callback that fits its outcome, with the outcome, to ``deliver``."""

    def __init__(
        self,
        work: Callable[[], Any],
        handle_result: Callable[[Any], object],
        handle_failure: Callable[[Exception], object],
        deliver: Callable[[object], None],
    ) -> None:
        super().__init__()
        self._work, self._deliver = work, deliver
        self._handle_result, self._handle_failure = handle_result, handle_failure

    def run(self) -> None:
        try:
            result = self._work()
        except TrainingError as error:  # its sentence says all; that somebody canceled it is no failure
            if not isinstance(error, Canceled):
                logger.info("Background work came to nothing: %s", error)
            self._deliver((self._handle_failure, error))
        except Exception as error:  # the border between threads: the caller decides what it means
            logger.info("Background work failed", exc_info=True)
            self._deliver((self._handle_failure, error))
        else:
            self._deliver((self._handle_result, result))


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
        self._others: list[Background] = []
        self._worked.connect(self._on_worked)

    def submit(
        self,
        work: Callable[[], Any],
        handle_result: Callable[[Any], object],
        handle_failure: Callable[[Exception], object],
    ) -> None:
        """Run ``work``; then ``handle_result(result)`` or ``handle_failure(error)`` in the GUI thread. ``work`` must touch no widget."""
        if not self._closed:
            self._pool.start(_Work(work, handle_result, handle_failure, self._worked.emit))

    def make_other(self) -> Background:
        """A thread beside this one, for work that takes longer than a moment; it ends with it."""
        self._others.append(Background(self))
        return self._others[-1]

    @property
    def is_closed(self) -> bool:
        """Whether nobody waits for an answer any more: what takes longer than a moment has to look, and return."""
        return self._closed

    @Slot()
    def close(self) -> None:
        """Drop what has not begun, wait for what has (file operations of a moment), deliver nothing more."""
        every = list(self._list_all())
        for each in every:
            each._closed = True
            each._pool.clear()
        for each in every:  # all know by now, and end together
            each._pool.waitForDone()

    def _list_all(self) -> Iterator[Background]:
        for other in self._others:
            yield from other._list_all()
        yield self

    @Slot(object)
    def _on_worked(self, outcome: tuple[Callable[[Any], object], Any]) -> None:
        callback, value = outcome
        if not self._closed:
            callback(value)


class Refresher:
    """Work that is asked for again and again: asked while it is done, it is done once more after that, however often it was asked.

    ``prepare`` is called for each turn, in the GUI thread, and returns the work. A failure is no reason to do it once more, nor not to.
    """

    def __init__(
        self,
        background: Background,
        prepare: Callable[[], Callable[[], Any]],
        handle_result: Callable[[Any], object],
        handle_failure: Callable[[Exception], object],
    ) -> None:
        self._background, self._prepare = background, prepare
        self._handle_result, self._handle_failure = handle_result, handle_failure
        self._busy = False
        self.is_asked = False  # for another turn after this one

    def ask(self) -> None:
        """Do it now, or once more."""
        self.is_asked = self._busy
        if not self._busy:
            self._busy = True
            self._background.submit(self._prepare(), self._on_done, self._on_failed)

    def _on_done(self, result: Any) -> None:
        self._settle(self._handle_result, result)

    def _on_failed(self, error: Exception) -> None:
        self._settle(self._handle_failure, error)

    def _settle(self, handle: Callable[[Any], object], outcome: Any) -> None:
        self._busy = False
        handle(outcome)
        if self.is_asked and not self._busy:  # else the next turn was begun by the one who heard of this one
            self.ask()
