"""The profiler on the Run page and the Runs page: asked for, measured, shown, acted on."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QLabel, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from studio.actions.table import ACTIONS
from studio.engine.state import RunState
from studio.panels.fix_dialog import OFFER, FixDialog
from studio.state.context import AppContext
from studio.widgets import Banner, Share, ShareBar
from tests.studio.conftest import ENDLESS
from tests.studio.window_driver import answer_next_dialog, open_window, press, run_page
from training.config import RunConfig
from training.control import Command
from training.runs.folder import RunFolder

MakeConfig = Callable[..., RunConfig]


def words(widget: QWidget) -> str:
    """All that can be read in what is shown of ``widget``."""
    return "\n".join(label.text() for label in widget.findChildren(QLabel) if label.isVisible())


def train(qtbot: QtBot, context: AppContext, config: RunConfig) -> RunFolder:
    context.start_run(config)
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    assert context.live.folder is not None
    return context.live.folder


def test_the_page_asks_measures_and_shows(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    page = run_page(open_window(qtbot, context))
    assert not page.system.profile.isVisible()
    train(qtbot, context, config(epochs=ENDLESS, milliseconds=20))
    page.show_tab("system")
    assert "to see where the time goes" in words(page.system.profile)
    qtbot.mouseClick(page.system.profile.button, Qt.MouseButton.LeftButton)
    assert page.system.profile.progress.isVisible()
    qtbot.waitUntil(page.system.profile.view.isVisible)
    assert not page.system.profile.progress.isVisible()
    shown = [(share.title, share.figure) for share in page.system.profile.view.bar.shares()]
    assert shown == [("Data-loading stall", "20 ms · 67%"), ("Forward", "5 ms · 17%"), ("Backward", "5 ms · 17%")]
    assert "67% of each step waits for data." in words(page.system.profile)
    context.live.ask(Command.STOP)


def test_what_the_profile_proposes_is_applied(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    page = run_page(open_window(qtbot, context))
    train(qtbot, context, config(epochs=ENDLESS, milliseconds=20))
    next(action for action in ACTIONS if action.id == "profile").run(context)  # type: ignore[misc]
    qtbot.waitUntil(page.system.profile.view.isVisible)
    assert (
        "Proposed: Data-loader workers: automatic → 3" in page.system.profile.findChildren(Banner)[0].accessibleName()
    )
    read = answer_next_dialog(qtbot, FixDialog, "Cancel")
    press(page.system.profile, OFFER)
    assert "Data-loader workers: automatic → 3" in read[0]
    context.live.ask(Command.STOP)


def test_a_run_that_ended_keeps_its_profile(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    window = open_window(qtbot, context)
    page = run_page(window)
    folder = train(qtbot, context, config(epochs=ENDLESS, milliseconds=20))
    context.live.ask(Command.PROFILE)
    qtbot.waitUntil(page.system.profile.view.isVisible)
    context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED and not context.engine.training)
    assert page.system.profile.view.isVisible()
    assert not page.system.profile.button.isVisible()
    shares = page.system.profile.view.bar.shares()
    context.live.detach()
    context.open_run(folder.path, "system")
    qtbot.waitUntil(page.system.profile.view.isVisible)
    assert page.system.profile.view.bar.shares() == shares


def test_a_run_that_ended_without_one_shows_nothing(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    page = run_page(open_window(qtbot, context))
    context.start_run(config())
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.engine.training)
    assert page.system.profile.isHidden()


def test_a_share_bar_names_its_parts(qtbot: QtBot) -> None:
    bar = ShareBar("Time of one step")
    qtbot.addWidget(bar)
    bar.set_shares([Share("Forward", 0.25, "1 ms", 0), Share("Backward", 0.75, "3 ms", 3)])
    bar.resize(400, 80)
    bar.show()
    strip = bar._strip
    assert strip.accessibleName() == "Time of one step: Forward 1 ms, Backward 3 ms"
    assert strip.focusPolicy() & Qt.FocusPolicy.TabFocus
    rooms = strip.rooms()
    assert [round(right - left) for _share, left, right in rooms] == [100, 300]
    for x, text in ((50, "Forward: 1 ms"), (250, "Backward: 3 ms")):
        QApplication.sendEvent(strip, QHelpEvent(QEvent.Type.ToolTip, QPoint(x, 5), strip.mapToGlobal(QPoint(x, 5))))
        assert QToolTip.text() == text
    bar.set_shares([])
    assert strip.accessibleName() == "Time of one step: nothing yet"
