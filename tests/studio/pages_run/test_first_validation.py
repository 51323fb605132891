"""What comes with the first validation moves nothing of what is looked at."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.pages.run.page import RunPage
from studio.state.context import AppContext
from studio.theme import apply
from tests.studio.window_driver import open_window, run_page
from tests.training.tiny import tiny
from training.engine.runs.run import start_run
from training.events import Validated
from training.runs.folder import RunFolder


def places(page: RunPage) -> list[QRect]:
    def place(part: QWidget) -> QRect:
        return QRect(part.mapTo(page, part.rect().topLeft()), part.size())

    return [place(part) for part in (page.charts.curves, page.charts.numbers, page.tabs.bar)]


def test_charts_keep_their_place_when_figures_of_the_classes_come(
    qtbot: QtBot, qapp: QApplication, context: AppContext, workspace: Path
) -> None:
    apply(qapp, "light")
    folder = RunFolder(Path(start_run(tiny("loop.decision_boundary=off"), workspace).folder))
    kept = folder.evaluation_file.read_text()
    folder.evaluation_file.unlink()
    window = open_window(qtbot, context)
    window.resize(1280, 800)
    page = run_page(window)
    context.live.attach(folder.path)
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    bar = page.charts.area.verticalScrollBar()
    qtbot.waitUntil(lambda: page.charts.curves.isVisible() and len(page.checkpoints.list.checkpoints) > 0)
    qtbot.waitUntil(page.charts.records.layers.isVisible)
    page.charts.records.layers.hide()  # as before its first norms
    qtbot.waitUntil(lambda: bar.maximum() == 0)
    qtbot.wait(50)  # laid out
    before = places(page)
    folder.evaluation_file.write_text(kept)
    page.charts.evaluation.refresh()
    qtbot.waitUntil(lambda: page.charts.evaluation.isVisible() and bar.maximum() > 0)
    qtbot.wait(50)
    assert places(page) == before


def test_charts_keep_their_place_when_early_stopping_begins_to_count(
    qtbot: QtBot, qapp: QApplication, context: AppContext, workspace: Path
) -> None:
    apply(qapp, "light")
    folder = start_run(tiny("loop.early_stopping_patience=500"), workspace).folder
    window = open_window(qtbot, context)
    window.resize(1280, 800)
    page = run_page(window)
    context.live.attach(Path(folder))
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    qtbot.waitUntil(lambda: page.charts.curves.isVisible() and len(page.checkpoints.list.checkpoints) > 0)
    numbers, monitor = page.charts.numbers, "val/accuracy"
    numbers.show_best(there=True, live=True)
    for step, stale in ((2700, 0), (3900, 8)):
        event = Validated(step=step, epoch=1, metrics={monitor: 0.5}, improved=not stale, stale=stale, patience=500)
        numbers.add_event(event, monitor)
        numbers.refresh()
        qtbot.wait(50)  # laid out
        if not stale:
            before = places(page)
    words = numbers.quality._delta
    assert words.text() == "best 50.00% at step 2,700, early stopping 8 of 500"
    assert words.heightForWidth(words.width()) > words.fontMetrics().lineSpacing() * 1.5  # they do wrap
    assert places(page) == before
