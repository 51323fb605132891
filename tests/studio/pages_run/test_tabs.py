"""Any run on the Run page: one that ended while another one trains, its log, its settings beside those of another, what is said of it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRect, Qt, QTimer
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.pages.run.about_row import AboutDialog
from studio.pages.run.config_tab import ConfigTab
from studio.pages.run.log_tab import LogTab
from studio.services.notifier import Notification
from studio.state.context import AppContext
from studio.widgets import Banner
from tests.studio.conftest import ENDLESS
from tests.studio.window_driver import open_window, run_page
from training.config import RunConfig
from training.control import Command
from training.events import Finding
from training.runs.records.about import About, read_about

MakeConfig = Callable[..., RunConfig]


def test_a_run_that_ended_is_looked_at_while_another_one_trains(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    window = open_window(qtbot, context)
    page = run_page(window)
    context.start_run(config("first", seed=7))
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.start_problem())
    first = context.live.folder
    assert first is not None
    context.start_run(config("second", epochs=ENDLESS, milliseconds=10))
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    context.open_run(first.path)
    assert page.header._name.text() == "first"
    assert not page.header.pause.isVisible()
    assert page.checkpoints.list.folder == first
    qtbot.waitUntil(lambda: len(page.checkpoints.list.checkpoints) == 2)
    assert context.live.state is RunState.TRAINING  # which goes on
    assert window.controller.actions.actions["stop"].isEnabled()  # for the run at work

    log = window.page("run/log")
    assert isinstance(log, LogTab)
    assert any("Completed at step 40" in line for line in log.lines())
    log.group.setCurrentText("Checkpoints")
    assert all("Checkpoint saved at step " in line for line in log.lines())
    log.group.setCurrentText("Attempts")
    log.words.setText("completed")
    (line,) = log.lines()
    log.copy.click()
    assert QApplication.clipboard().text() == line
    log.words.setText("zebra")
    assert not log.copy.isEnabled()

    tab = window.page("run/config")
    assert isinstance(tab, ConfigTab)
    assert any("(default: " in label.text() for label in tab.settings.findChildren(QLabel))
    context.library.refresh()
    qtbot.waitUntil(lambda: tab.other.findText("second") > 0)
    tab.other.setCurrentText("second")
    tab.other.activated.emit(tab.other.currentIndex())
    shown = [label.text() for label in tab.settings.findChildren(QLabel)]
    assert "7   (there: 0)" in shown
    assert any(f"(there: {ENDLESS:,})" in text or f"(there: {ENDLESS})" in text for text in shown)

    assert page.header.work.text() == "“second” is being trained"
    page.header.work.click()
    assert page.header._name.text() == "second"
    assert page.header.pause.isVisible()
    assert not page.header.work.isVisible()
    context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED and not context.engine.training)


def test_name_star_tags_and_notes_are_given_in_the_head_and_undone(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    page = run_page(open_window(qtbot, context))
    context.start_run(config("first"))
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.start_problem())
    folder = context.live.folder
    assert folder is not None
    qtbot.waitUntil(page.about.star.isVisible)
    heard: list[Notification] = []
    context.notifier.notified.connect(heard.append)

    page.about.star.click()
    qtbot.waitUntil(lambda: page.about.star.accessibleName() == "Remove the star")
    qtbot.mouseDClick(page.about.name.label, Qt.MouseButton.LeftButton)
    qtbot.keyClicks(page.about.name.edit, "never")
    qtbot.keyClick(page.about.name.edit, Qt.Key.Key_Escape)
    assert page.about.name.label.text() == "first"
    qtbot.mouseDClick(page.about.name.label, Qt.MouseButton.LeftButton)
    qtbot.keyClicks(page.about.name.edit, "pets at night")
    qtbot.keyClick(page.about.name.edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: read_about(folder) == About(name="pets at night", star=True))
    qtbot.waitUntil(lambda: page.about.find_about().name == "pets at night")

    def write(dialog: AboutDialog) -> None:
        dialog.tags.setText("cats, night,cats")
        dialog.notes.setPlainText("Too dark.")
        dialog.save.click()

    QTimer.singleShot(100, lambda: write(page.window().findChild(AboutDialog)))  # type: ignore[arg-type]
    page.about.tags.click()
    qtbot.waitUntil(lambda: read_about(folder).tags == ("cats", "night") and read_about(folder).notes == "Too dark.")
    qtbot.waitUntil(lambda: page.about.tags.text() == "cats, night")
    undo = next(notice.action for notice in heard if "is called" in notice.text)
    assert undo is not None
    undo()
    qtbot.waitUntil(lambda: page.about.name.label.text() == "first")
    assert folder.config().name == "first"  # which was never edited


def lie_still(qtbot: QtBot, widget: QWidget) -> QRect:
    """Where ``widget`` lies once nothing moves it any more."""
    seen: list[QRect] = []

    def is_still() -> bool:
        seen.append(widget.geometry())
        return len(seen) >= 20 and all(place == seen[-1] for place in seen[-20:])

    qtbot.waitUntil(is_still)
    return seen[-1]


def test_findings_are_told_beside_the_tabs_and_move_nothing(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    page = run_page(open_window(qtbot, context))
    context.start_run(config())
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.start_problem())
    qtbot.waitUntil(lambda: page.header.resume.isVisible())
    place, strip = lie_still(qtbot, page.charts.curves), page.notices
    assert strip.text() == ""
    assert not strip.details.isVisible()
    for number in range(2):
        found = Finding(level="warning", title=f"Loss jumps {number}.", step=20, advice="Lower the learning rate.")
        page.found.findings.add(found)
    qtbot.waitUntil(lambda: strip.text().startswith("Loss jumps 0 (step 20). Lower the learning rate."))
    assert strip.details.text() == "All 2"
    strip.details.click()
    assert strip.panel.isVisible()
    assert lie_still(qtbot, page.charts.curves) == place
    for banner in page.findings.findChildren(Banner):
        banner.closed.emit()
    qtbot.waitUntil(lambda: strip.text() == "")
    assert not strip.panel.isVisible()
