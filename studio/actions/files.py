"""Show a file or folder where the desktop shows files, or open it."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication

logger = logging.getLogger(__name__)


def reveal(path: Path) -> None:
    """Open the file manager at ``path``: marked in its folder where the system can, else the folder itself."""
    folder = path if path.is_dir() else path.parent
    try:
        if sys.platform == "darwin":
            subprocess.Popen(["open", "-R", str(path)])
            return
        if sys.platform == "win32":
            subprocess.Popen(["explorer", f"/select,{path}"])
            return
    except OSError as error:
        logger.info("The file manager did not open: %s", error)
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


def open_file(path: Path) -> None:
    """Open it with the program that the system has for such files; where it has none, show where it lies."""
    if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
        reveal(path)


def copy_text(text: str) -> None:
    """Put ``text`` on the clipboard."""
    QGuiApplication.clipboard().setText(text)
