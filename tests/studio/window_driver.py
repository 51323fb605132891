"""Makes a real main window around a context, and finds its parts the way a person would."""

from __future__ import annotations

from pathlib import Path
from warnings import catch_warnings, simplefilter

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.actions.question import Question
from studio.pages.run.page import RunPage
from studio.pages.runs.page import RunsPage
from studio.state.context import AppContext
from studio.theme import dress_at_end
from studio.window.drop_overlay import DropOverlay
from studio.window.main_window import MainWindow

_REST = (Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)


def open_window(qtbot: QtBot, context: AppContext, page: str = "run") -> MainWindow:
    """A window that is shown, on ``page``."""
    with dress_at_end(QApplication.instance()):
        window = MainWindow(context.settings)
        window.resize(1280, 800)  # as on a usual screen, which that of the tests is not
        window.show_page(page)
        with qtbot.waitActive(window):
            window.show()
            window.activateWindow()
        window.furnish(context)
    return window


def run_page(window: MainWindow) -> RunPage:
    """The Run page, in front."""
    page = window.page("run")
    assert isinstance(page, RunPage)
    return page


def runs_page(window: MainWindow) -> RunsPage:
    """The Runs page, in front."""
    page = window.page("runs")
    assert isinstance(page, RunsPage)
    return page


def open_by_enter(qtbot: QtBot, window: MainWindow, run_id: str) -> RunPage:
    """Choose a run in the table of the Runs page and press Enter: it is on the Run page then, which is in front."""
    window.show_page("runs")
    page = runs_page(window)
    page.choose(run_id)
    QTest.keyClick(page.table, Qt.Key.Key_Return)
    shown = run_page(window)
    qtbot.waitUntil(shown.isVisible)
    return shown


def answer_next_question(qtbot: QtBot, text: str) -> list[str]:
    """Press the button ``text`` of the next question; the list tells what was asked."""
    asked: list[str] = []

    def press() -> None:
        question = QApplication.activeModalWidget()
        if not isinstance(question, Question):
            QTimer.singleShot(50, press)
            return
        asked.append(question.title)
        next(button for button in question.findChildren(QPushButton) if button.text() == text).click()

    QTimer.singleShot(50, press)
    return asked


def answer_next_dialog(qtbot: QtBot, kind: type[QDialog], text: str) -> list[str]:
    """Press the button ``text`` of the next dialog of ``kind``; the list tells all that could be read in it."""
    read: list[str] = []

    def answer() -> None:
        dialog = QApplication.activeModalWidget()
        if not isinstance(dialog, kind):
            QTimer.singleShot(50, answer)
            return
        read.append("\n".join(label.text() for label in dialog.findChildren(QLabel)))
        press(dialog, text)

    QTimer.singleShot(50, answer)
    return read


def press(parent: QWidget, text: str) -> None:
    """Click the button ``text`` somewhere in ``parent``."""
    next(button for button in parent.findChildren(QPushButton) if button.text() == text).click()


def carry(*paths: Path) -> QMimeData:
    """What a file manager hands over."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def drag(target: QWidget, data: QMimeData) -> bool:
    """Drag ``data`` over ``target``; whether it was accepted."""
    action, buttons, keys = _REST
    with catch_warnings():
        simplefilter("ignore", DeprecationWarning)  # Qt 6.12 wants a QPointF, which earlier ones do not take
        event = QDragEnterEvent(QPoint(300, 300), action, data, buttons, keys)
    QApplication.sendEvent(target, event)
    return event.isAccepted()


def let_go(target: QWidget, data: QMimeData) -> None:
    """Drop ``data`` on ``target``."""
    action, buttons, keys = _REST
    QApplication.sendEvent(target, QDropEvent(QPointF(300, 300), action, data, buttons, keys))


def overlay(window: MainWindow) -> DropOverlay:
    """What covers the window while something is dragged over it."""
    (found,) = window.findChildren(DropOverlay)
    return found
