"""Notices of the desktop itself, for who looks at other windows."""

from __future__ import annotations

import html
import logging
import shutil
import sys

from PySide6.QtCore import QObject, QProcess, QTimer, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QSystemTrayIcon

from studio import identity

logger = logging.getLogger(__name__)

_IN_SIGHT = 15_000  # milliseconds that an icon stays in the tray for its message, where one is needed


class DesktopNotices(QObject):
    """Signals: `clicked()`: a person wants to see what a notice told of."""

    clicked = Signal()

    def show(self, title: str, text: str, urgent: bool = False) -> None:
        """Show one, where the desktop can; ``urgent``: until it is put away."""
        if sys.platform in ("win32", "darwin"):
            self._show_from_tray(title, text)
        elif program := shutil.which("notify-send"):
            self._send(program, _make_words(title, text, urgent), ["--action=default=Show"])
        else:
            logger.info("No notice is shown: notify-send is not installed.")

    def _send(self, program: str, words: list[str], answers: list[str]) -> None:
        """The process waits for the person's answer, and prints it."""
        process = QProcess(self)

        def end(code: int) -> None:
            process.deleteLater()
            if code and answers:  # libnotify before 0.7.10 knows no answers
                self._send(program, words, [])
            elif b"default" in bytes(process.readAllStandardOutput().data()):
                self.clicked.emit()

        process.finished.connect(end)
        process.start(program, [*answers, *words])

    def _show_from_tray(self, title: str, text: str) -> None:
        tray = QSystemTrayIcon(QIcon(str(identity.APP_ICON)), self)
        tray.messageClicked.connect(self.clicked)
        tray.show()
        tray.showMessage(title, text, tray.icon())
        QTimer.singleShot(_IN_SIGHT, tray, tray.deleteLater)

    def close(self) -> None:
        """The window ends; notices stay, but nobody hears their answers."""
        for process in self.findChildren(QProcess):
            process.finished.disconnect()
            process.kill()
            process.waitForFinished(1000)


def _make_words(title: str, text: str, urgent: bool) -> list[str]:
    names = [
        f"--app-name={identity.APP_NAME}",
        f"--icon={identity.APP_ICON}",
        f"--hint=string:desktop-entry:{identity.APP_ID}",
        f"--urgency={'critical' if urgent else 'normal'}",
    ]
    return [*names, "--", title, html.escape(text, quote=False)]  # the body may have marks of HTML
