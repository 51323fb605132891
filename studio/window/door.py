"""Listens for other starts of the program, and brings the window to the front for them."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, Listener
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.services.instance import FURNISHING, MOST_BYTES, TAKEN, Request, hand_over, parse_request

logger = logging.getLogger(__name__)

_PATIENCE = 2.0  # seconds for one that knocked to say what it wants
_REST = 0.2  # seconds after a knock that failed: of too many open files the next one fails as well
_BACKLOG = 8
_TURN = 20.0  # seconds: longer than another start waits for a window that hangs


class Door(QObject):
    """Open from ``open`` to ``close``; one process for each address. It is taken for furnished once the event loop that opened it is
    back.

    Signals:
        asked(Request): another start handed this over. Delivered in this object's thread.
    """

    asked = Signal(object)
    _knocked = Signal(object, object)
    _opened = Signal()

    def __init__(self, address: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._address = address
        self._listener: Listener | None = None
        self._is_furnished = False
        self._knocked.connect(self._on_knocked)
        self._opened.connect(self._on_opened, Qt.ConnectionType.QueuedConnection)

    def open(self, request: Request) -> bool:
        """Listen from now on; False where another window does so already, which has taken ``request`` over."""
        if self._listener is not None or not self._address:
            return True
        with _one_at_a_time(self._address):
            try:
                self._listener = self._listen()
            except OSError:
                if hand_over(self._address, request):
                    return False
                self._clear_away()
        if self._listener is not None:
            self._opened.emit()
            threading.Thread(target=self._serve, args=(self._listener,), name="door", daemon=True).start()
        return True

    def close(self) -> None:
        """A start after this one opens a window of its own."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()  # which takes the socket's file away; the thread waits on, and ends with the process

    def _listen(self) -> Listener:
        return Listener(self._address, backlog=_BACKLOG)

    def _clear_away(self) -> None:
        """Take the place of a window that was killed."""
        try:
            Path(self._address).unlink()
            self._listener = self._listen()
        except OSError as error:
            logger.warning("Another start opens a window of its own: %s", error)

    def _serve(self, listener: Listener) -> None:
        while self._listener is listener:
            try:
                connection = listener.accept()
            except OSError as error:  # it was closed, or who knocked is gone
                logger.info("The door was left: %s", error)
                time.sleep(_REST)
                continue
            if self._listener is not listener:  # closed meanwhile
                connection.close()
                return
            try:
                if connection.poll(_PATIENCE):
                    request = parse_request(connection.recv_bytes(MOST_BYTES))
                    if not self._is_furnished:
                        connection.send_bytes(FURNISHING)
                    self._knocked.emit(request, connection)
            except (OSError, EOFError, ValueError, RecursionError) as error:
                logger.info("Something else knocked: %s", error)
                connection.close()

    @Slot()
    def _on_opened(self) -> None:
        self._is_furnished = True

    @Slot(object, object)
    def _on_knocked(self, request: Request, connection: Connection) -> None:
        with connection:
            if self._listener is None:  # the window ends: who knocked opens one of its own
                return
            try:
                connection.send_bytes(TAKEN)  # first: what is asked may take as long as a person looks at a question
            except OSError as error:
                logger.info("Nobody waits at the door any more, and opens a window: %s", error)
                return
        self.asked.emit(request)


@contextmanager
def _one_at_a_time(address: str) -> Iterator[None]:
    """Of two that were started at once where a window was killed, the second would take away the socket of the first."""
    if sys.platform == "win32":  # where the system itself lets one alone make the pipe
        yield
        return
    from filelock import FileLock, Timeout  # not before the first paint

    lock = FileLock(f"{address}.lock")
    try:
        lock.acquire(timeout=_TURN)
    except (OSError, Timeout) as error:
        logger.warning("The door is opened without a look at other starts: %s", error)
    try:
        yield
    finally:
        lock.release()


def bring_to_front(window: QWidget, token: str) -> None:
    """Show it above others, unless the desktop forbids that; ``token`` is what it gave for it (Wayland)."""
    if token:
        os.environ["XDG_ACTIVATION_TOKEN"] = token  # where Qt looks for it
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()
