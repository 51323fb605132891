"""Where the program writes down what it did: a rotating log, native crashes, and Qt's own messages."""

from __future__ import annotations

import faulthandler
import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO

from platformdirs import user_log_path
from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from studio.identity import APP_NAME

logger = logging.getLogger(__name__)

_QT_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


def log_folder() -> Path:
    """The folder of all log files."""
    return user_log_path(APP_NAME, appauthor=False)


class LogFiles:
    """Opens the log files of this process. ``last_crash`` is what a native crash of the last start left behind."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "trainwright.log"
        self.last_crash = ""
        self._faults: IO[str] | None = None
        root = logging.getLogger()
        root.setLevel(logging.INFO)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handler: logging.Handler = RotatingFileHandler(
                self.path, maxBytes=2_000_000, backupCount=3, encoding="utf-8"
            )
            self._watch_faults(folder / "native-crash.txt")
        except OSError as error:  # a full or read-only disk must not keep the window from opening
            handler = logging.StreamHandler()
            root.addHandler(handler)
            logger.warning("No log can be written to %s: %s", folder, error)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
        root.addHandler(handler)

    def _watch_faults(self, path: Path) -> None:
        if path.exists():
            self.last_crash = path.read_text(encoding="utf-8", errors="replace").strip()
        self._faults = path.open("w", encoding="utf-8")  # kept open: the crash handler may not open files
        faulthandler.enable(self._faults)

    def close(self) -> None:
        """End the watch for native crashes (an orderly exit leaves no report)."""
        if self._faults is not None:
            faulthandler.disable()
            self._faults.close()
            self._faults = None


def log_qt_messages() -> None:
    """Send Qt's warnings to the log instead of the terminal."""
    qt_logger = logging.getLogger("qt")

    def handle(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
        qt_logger.log(_QT_LEVELS.get(kind, logging.WARNING), "%s (%s)", text, context.category or "default")

    qInstallMessageHandler(handle)
