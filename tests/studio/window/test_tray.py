"""The icon in the tray: only if chosen, and then a closed window is left there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QSystemTrayIcon
from pytestqt.qtbot import QtBot

from studio.state.context import AppContext
from studio.window import tray
from studio.window.preferences import PreferencesDialog
from tests.studio.conftest import ENDLESS
from tests.studio.window_driver import answer_next_question, open_window
from training.config import RunConfig

MakeConfig = Callable[..., RunConfig]
pytestmark = pytest.mark.qt_log_ignore("systemTrayWindowChanged")  # which the platform of the tests has not


@pytest.fixture
def has_tray(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the desktop has one, as its only item; the platform of the tests has none."""
    answer = [True]
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: answer[0])
    return answer


def test_a_closed_window_stays_in_the_tray_that_was_chosen(
    qtbot: QtBot, context: AppContext, has_tray: list[bool], config: MakeConfig
) -> None:
    window = open_window(qtbot, context)
    shown = window.controller.tray
    assert shown.icon is None
    context.settings.update(tray=True)
    assert shown.icon is not None
    assert shown.icon.toolTip() == "Trainwright"
    context.start_run(config(epochs=ENDLESS, milliseconds=10))
    qtbot.waitUntil(lambda: context.live.progress.step > 3)
    assert context.live.name in shown.icon.toolTip()
    window.close()
    assert not window.isVisible()
    assert not window.controller.closing.begun
    step = context.live.progress.step
    qtbot.waitUntil(lambda: context.live.progress.step > step)
    shown.icon.activated.emit(QSystemTrayIcon.ActivationReason.Trigger)
    assert window.isVisible()
    answer_next_question(qtbot, "Cancel")
    window.controller.actions.actions["quit"].trigger()
    assert window.isVisible()
    window.close()  # the question was called off, and so was the quitting
    assert not window.isVisible()
    answer_next_question(qtbot, "Stop && save checkpoint")
    with qtbot.waitSignal(window.closed, timeout=60_000):
        window.controller.actions.actions["quit"].trigger()


def test_without_a_tray_a_closed_window_is_closed(qtbot: QtBot, context: AppContext, has_tray: list[bool]) -> None:
    context.settings.update(tray=True)
    window = open_window(qtbot, context)
    window.close()
    assert not window.isVisible()
    has_tray[0] = False  # the panel that had it is gone
    window.controller.tray.look()
    assert window.isVisible()
    with qtbot.waitSignal(window.closed, timeout=60_000):
        window.close()


QUIT = """
from PySide6.QtCore import QTimer
from studio.window.application import make_application

app, asked = make_application(), []

def answer():
    asked.append("asked")
    app.can_quit = lambda: True
    QTimer.singleShot(0, app.quit)

app.can_quit = lambda: False
app.quit_asked.connect(answer)
QTimer.singleShot(0, app.quit)
app.exec()
print(asked)
"""
"""The desktop asks the program to end, by the event that it sends at a logout and from the Dock."""


def test_a_quit_of_the_desktop_waits_for_the_window() -> None:
    done = subprocess.run([sys.executable, "-c", QUIT], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "['asked']\n"


def test_a_restart_and_a_quit_of_the_desktop_do_not_end_in_the_tray(
    qtbot: QtBot, context: AppContext, has_tray: list[bool], config: MakeConfig
) -> None:
    context.settings.update(tray=True)
    window = open_window(qtbot, context)
    context.start_run(config(epochs=ENDLESS, milliseconds=10))
    qtbot.waitUntil(lambda: context.live.progress.step > 3)
    window.close()
    asked = answer_next_question(qtbot, "Cancel")
    window.controller.quit()
    assert len(asked) == 1
    assert window.isVisible()
    answer_next_question(qtbot, "Stop && save checkpoint")
    with qtbot.waitSignal(window.closed, timeout=60_000):
        window.restart()


@pytest.mark.parametrize("there", [True, False])
def test_the_tray_is_chosen_in_preferences(
    qtbot: QtBot, context: AppContext, has_tray: list[bool], there: bool
) -> None:
    has_tray[0] = there
    dialog = PreferencesDialog(context)
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.tray.isEnabled() == tray.has_tray() == there
    assert ("no tray" in dialog.tray.toolTip()) != there
    if there:
        dialog.tray.click()
        dialog._on_accepted()
    assert context.settings.get().tray == there
