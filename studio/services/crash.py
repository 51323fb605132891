"""Errors nobody caught: logged, and shown with their text instead of vanishing."""

from __future__ import annotations

import logging
import platform
import sys
import threading
import traceback
from types import TracebackType

from PySide6.QtCore import QObject, Signal, qVersion

from studio.identity import APP_NAME, VERSION

logger = logging.getLogger(__name__)


def system_summary() -> str:
    """One line for reports: versions and platform."""
    return f"{APP_NAME} {VERSION}, Python {platform.python_version()}, Qt {qVersion()}, {platform.platform()}"


class CrashReporter(QObject):
    """Catches exceptions that reached the top of any thread.

    Signals:
        reported(str): the whole text of a report; always delivered in the GUI thread.
    """

    reported = Signal(str)

    def install(self) -> None:
        """Become the process's exception hook."""
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception

    def uninstall(self) -> None:
        """Give Python's own hooks back."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__

    def _on_exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            return  # the signal handler ends the program politely
        text = "".join(traceback.format_exception(kind, error, trace))
        logger.error("Uncaught exception:\n%s", text)
        self.reported.emit(f"{system_summary()}\n\n{text}")

    def _on_thread_exception(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self._on_exception(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)
