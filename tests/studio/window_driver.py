"""Makes a real main window around a context, and finds its parts the way a person would."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

from studio.pages.runs.page import RunsPage
from studio.pages.train.page import TrainPage
from studio.state.context import AppContext
from studio.window.main_window import MainWindow


def open_window(qtbot: QtBot, context: AppContext, page: str = "train") -> MainWindow:
    """A window that is shown, on ``page``."""
    window = MainWindow(context)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    window.show_page(page)
    return window


def train_page(window: MainWindow) -> TrainPage:
    """The Train page, in front."""
    page = window.page("train")
    assert isinstance(page, TrainPage)
    return page


def runs_page(window: MainWindow) -> RunsPage:
    """The Runs page, in front."""
    page = window.page("runs")
    assert isinstance(page, RunsPage)
    return page


def answer_next_question(qtbot: QtBot, text: str) -> list[str]:
    """Press the button ``text`` of the next message box; the list tells which texts the boxes had."""
    asked: list[str] = []

    def press() -> None:
        box = QApplication.activeModalWidget()
        if not isinstance(box, QMessageBox):
            QTimer.singleShot(50, press)
            return
        asked.append(box.text())
        button = next(button for button in box.buttons() if button.text().replace("&", "") == text)
        button.click()

    QTimer.singleShot(50, press)
    return asked
