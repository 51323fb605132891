"""Where the program writes down what it did: a rotating log, with Qt's own messages in it."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from training.system.places import logs_folder

logger = logging.getLogger(__name__)

LOG_FILE = "trainwright.log"
_QT_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


def log_folder() -> Path:
    """The folder of all log files."""
    return logs_folder()


def open_log(folder: Path) -> Path:
    """Open the log of this process, and return its file."""
    path = folder / LOG_FILE
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler: logging.Handler = RotatingFileHandler(path, maxBytes=2_000_000, backupCount=3, encoding="utf-8")
    except OSError as error:  # a full or read-only disk must not keep the window from opening
        handler = logging.StreamHandler()
        root.addHandler(handler)
        logger.warning("No log can be written to %s: %s", folder, error)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    root.addHandler(handler)
    return path


def log_qt_messages() -> None:
    """Send Qt's warnings to the log instead of the terminal."""
    qt_logger = logging.getLogger("qt")

    def handle(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
        qt_logger.log(_QT_LEVELS.get(kind, logging.WARNING), "%s (%s)", text, context.category or "default")

    qInstallMessageHandler(handle)
