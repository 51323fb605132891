"""The real program with one fault in it, named on the command line; "look" is none, and tells what the start offers. "killed" is followed by
a run's folder: the window is killed while folds of its training part are trained."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from pathlib import Path

from PySide6.QtCore import QObject, QThread, QTimer
from PySide6.QtWidgets import QPlainTextEdit, QPushButton

from studio import app, launch
from studio.widgets import Banner
from studio.window.dialogs import ReportDialog
from studio.window.main_window import MainWindow
from training.labels.progress import fold_folder
from training.runs.folder import RunFolder
from training.runs.records.series import read_series


class Worker(QThread):
    """A thread of Qt whose work fails."""

    def run(self) -> None:
        fail("the tide is low")


def fail(why: str) -> None:
    """What a slot or a thread runs into."""
    raise ValueError(why)


def say(text: str) -> None:
    """To the test."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def look(window: MainWindow) -> None:
    """Say what is offered, open it, close it, and close the window."""
    for banner in window.controller.notices.findChildren(Banner):
        say(f"banner: {banner.accessibleName()}")
        buttons = {button.text(): button for button in banner.findChildren(QPushButton)}
        say(f"buttons: {sorted(text for text in buttons if text)}")
        buttons["Show report"].click()
    for dialog in window.findChildren(ReportDialog):
        say(f"report: {dialog.findChildren(QPlainTextEdit)[0].toPlainText()}")
        dialog.close()
    window.close()


def begin(kind: str, window: MainWindow, parent: QObject) -> None:
    """Let the fault happen."""
    if kind == "errors":
        for _ in range(50):  # the same one again and again is told once
            QTimer.singleShot(0, parent, lambda: fail("the moon is full"))
        threading.Thread(target=fail, args=("the sun is down",)).start()
        worker = Worker(parent)
        worker.start()
        worker.wait()
    elif kind == "segfault":
        ctypes.string_at(0)
    elif kind == "killed":
        examine_and_die(window, parent)
        return
    else:
        look(window)
        return
    QTimer.singleShot(500, parent, lambda: tell_and_close(window))


def examine_and_die(window: MainWindow, parent: QObject) -> None:
    """Train folds, and be killed in the middle of the first."""
    run = RunFolder(Path(sys.argv[2]))
    window.controller.context.labels.start(run, 2)

    def look() -> None:
        if len(read_series(fold_folder(run, 1).series_file)) > 50:
            os.kill(os.getpid(), signal.SIGKILL)

    timer = QTimer(parent, interval=20)
    timer.timeout.connect(look)
    timer.start()


def tell_and_close(window: MainWindow) -> None:
    """Whether the window still lives and says what happened; it is closed without anybody having looked."""
    for dialog in window.findChildren(ReportDialog):
        say(f"shown: {dialog.findChildren(QPlainTextEdit)[0].toPlainText()}")
    window.close()


def main() -> int:
    kind = sys.argv[1]
    real = launch.Application.open_window

    def open_window(self: launch.Application, config: str | None, start: bool) -> None:
        real(self, config, start)
        window = self.window
        assert window is not None
        QTimer.singleShot(200, self, lambda: begin(kind, window, self))

    launch.Application.open_window = open_window  # type: ignore[method-assign]
    return app.main([])


if __name__ == "__main__":
    sys.exit(main())
