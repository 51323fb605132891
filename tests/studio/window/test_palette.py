"""The command palette: found by any word, carried out by the keyboard alone, what was used last first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.state.context import AppContext
from studio.window.palette.entry import Entry, find
from tests.studio.window_driver import open_window, press
from training.config import RunConfig
from training.runs.folder import create_run


def entries(*titles: str) -> list[Entry]:
    return [Entry(title, title, "Command", lambda: None, more="nothing") for title in titles]


def titles(found: list[Entry]) -> list[str]:
    return [entry.title for entry in found]


def test_titles_come_before_what_is_only_mentioned_and_letters_in_order_last() -> None:
    known = [*entries("Weight decay", "Learning rate", "Relearn", "Decay steps", "Wild deer"), *entries("Save now")]
    known.append(Entry("x", "Momentum", "Setting", lambda: None, more="how much of the decay"))
    assert titles(find(known, "decay")) == ["Decay steps", "Weight decay", "Momentum"]
    assert titles(find(known, "learn")) == ["Learning rate", "Relearn"]
    assert titles(find(known, "rate learn")) == ["Learning rate"]
    assert titles(find(known, "wd")) == ["Wild deer", "Weight decay"]
    assert titles(find(known, "decay", ["Weight decay"]))[0] == "Decay steps"  # it fits better
    assert titles(find(known, "", ["Save now", "Relearn"]))[:3] == ["Save now", "Relearn", "Weight decay"]
    assert find(known, "zebra") == []
    assert titles(find(entries("a [b] (c"), "[b] (")) == ["a [b] (c"]


def test_settings_runs_commands_and_help_are_reached_by_the_keyboard_alone(
    qtbot: QtBot, context: AppContext, workspace: Path, config: Callable[..., RunConfig]
) -> None:
    run = create_run(workspace, config("pets of the street"))
    with qtbot.waitSignal(context.library.refreshed):
        context.library.refresh()
    window = open_window(qtbot, context, "setup")

    def choose(words: str, *keys: Qt.Key) -> None:
        # In a text field, too, whose own these keys are.
        qtbot.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        palette = window.controller.palette
        assert palette is not None
        qtbot.waitUntil(palette.isVisible)
        assert palette.line.text() == ""
        qtbot.keyClicks(palette.line, words)
        for key in (*keys, Qt.Key.Key_Return):
            qtbot.keyClick(palette.line, key)
        assert not palette.isVisible()
        window.activateWindow()  # which a window system does

    choose("weight decay")
    page = window.page("setup")

    def focused() -> str:
        widget = QApplication.focusWidget()
        return widget.accessibleName() if widget is not None and page.isAncestorOf(widget) else ""

    qtbot.waitUntil(lambda: "Weight decay" in focused())
    choose("where it runs")
    qtbot.waitUntil(lambda: focused() == "This process")
    choose("run name")
    qtbot.waitUntil(lambda: focused() == "Name")
    choose("pets street")
    assert window.rail.current() == "run"
    assert context.shown.run.folder == run
    choose("runs", Qt.Key.Key_Down, Qt.Key.Key_Up)
    assert window.rail.current() == "runs"
    choose("going back")
    assert window.controller.help is not None
    assert window.controller.help.isVisible()
    window.controller.help.hide()

    choose("nesterov")
    assert window.rail.current() == "setup"
    press(window.controller.toasts, "Choose SGD")
    assert context.draft.kind("optimizer") == "sgd"
    qtbot.waitUntil(lambda: "Nesterov" in focused())
    recent = context.settings.get().recent.split("\n")
    assert recent[1:4] == ["help:training:Going back", "action:page_runs", f"run:{run.id}"]
    qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    palette = window.controller.palette
    assert palette is not None
    assert [entry.key for entry in palette.model.entries][:3] == recent[1:4]  # the first is of another kind no longer
    qtbot.keyClicks(palette.line, "pause")  # which is there, with the reason
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert palette.isVisible()
    assert palette.problem.text() == "Cannot be used now: The run is not being trained: it was interrupted."
    palette.line.clear()
    qtbot.keyClicks(palette.line, "zzzz qqqq")
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)  # nothing to carry out
    assert palette.isVisible()
    qtbot.keyClick(palette.line, Qt.Key.Key_Escape)
    assert not palette.isVisible()
