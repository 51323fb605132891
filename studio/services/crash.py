"""Errors nobody caught: logged, kept as a report, and shown with their text instead of vanishing."""

from __future__ import annotations

import logging
import platform
import sys
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QObject, Signal, qVersion

from studio.identity import APP_NAME, VERSION
from studio.services.crash_reports import CrashReports

logger = logging.getLogger(__name__)

NATIVE = "Crashed in native code"
"""How the report of a native crash begins: the window ended with it."""


def system_summary() -> str:
    """One line for reports: versions and platform."""
    return f"{APP_NAME} {VERSION}, Python {platform.python_version()}, Qt {qVersion()}, {platform.platform()}"


@dataclass(frozen=True)
class Crash:
    """One report; ``path`` is None where it could not be kept."""

    text: str
    path: Path | None


class CrashReporter(QObject):
    """Catches exceptions that reached the top of any thread; the same one again is only logged.

    Signals:
        reported(Crash): always delivered in the GUI thread.
    """

    reported = Signal(object)

    def __init__(self, reports: CrashReports, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.reports = reports
        self._known: set[str] = set()

    def install(self) -> None:
        """Become the process's exception hook."""
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception

    def uninstall(self) -> None:
        """Give Python's own hooks back."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__

    def keep_native(self, faults: list[str]) -> None:
        """Make reports of what native crashes of earlier starts left behind."""
        for fault in faults:
            self.reports.write(f"{NATIVE}\n{system_summary()}\n\n{fault}")

    def _on_exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            return  # the signal handler ends the program politely
        text = "".join(traceback.format_exception(kind, error, trace))
        logger.error("Uncaught exception:\n%s", text)
        if text in self._known:  # a paint event fails with each frame
            return
        self._known.add(text)
        report = f"{system_summary()}\n\n{text}"
        self.reported.emit(Crash(report, self.reports.write(report)))

    def _on_thread_exception(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self._on_exception(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)
