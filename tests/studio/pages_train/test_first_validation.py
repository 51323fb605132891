"""What comes with the first validation moves nothing of what is looked at."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.pages.train.page import TrainPage
from studio.state.context import AppContext
from studio.theme import apply
from tests.studio.window_driver import open_window, train_page
from tests.training.tiny import tiny
from training.engine.runs.run import start_run
from training.runs.folder import RunFolder


def places(page: TrainPage) -> list[QRect]:
    def place(part: QWidget) -> QRect:
        return QRect(part.mapTo(page, part.rect().topLeft()), part.size())

    return [place(part) for part in (page.curves, page.checkpoints, page.numbers, page.system)]


def test_charts_keep_their_place_when_figures_of_the_classes_come(
    qtbot: QtBot, qapp: QApplication, context: AppContext, workspace: Path
) -> None:
    apply(qapp, "light")
    folder = RunFolder(Path(start_run(tiny("loop.decision_boundary=off"), workspace).folder))
    kept = folder.evaluation_file.read_text()
    folder.evaluation_file.unlink()
    window = open_window(qtbot, context)
    window.resize(1280, 800)
    page = train_page(window)
    context.live.attach(folder.path)
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    bar = page._content.verticalScrollBar()
    qtbot.waitUntil(lambda: page.curves.isVisible() and len(page.checkpoints.model.checkpoints) > 0)
    qtbot.waitUntil(page.records.layers.isVisible)
    page.records.layers.hide()  # as before its first norms
    qtbot.waitUntil(lambda: bar.maximum() == 0)
    qtbot.wait(50)  # laid out
    before = places(page)
    folder.evaluation_file.write_text(kept)
    page.evaluation.refresh()
    qtbot.waitUntil(lambda: page.evaluation.isVisible() and bar.maximum() > 0)
    qtbot.wait(50)
    assert places(page) == before
