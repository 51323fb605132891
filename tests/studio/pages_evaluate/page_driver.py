"""The Evaluate page as tests open it and click in it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, Qt
from pytestqt.qtbot import QtBot

from studio.pages.evaluate.page import EvaluatePage
from studio.pages.evaluate.views.confusion_view import ConfusionView
from studio.state.context import AppContext
from tests.studio.window_driver import open_window
from training.config import RunConfig

NAMES = tuple(f"class {number}" for number in range(3))
MakeConfig = Callable[..., RunConfig]


def open_page(qtbot: QtBot, context: AppContext) -> EvaluatePage:
    page = open_window(qtbot, context, "run/evaluate").page("run/evaluate")
    assert isinstance(page, EvaluatePage)
    qtbot.waitUntil(lambda: page.selection.evaluation is not None)
    return page


def confusion(page: EvaluatePage) -> ConfusionView:
    view = page.views["confusion"]
    assert isinstance(view, ConfusionView)
    return view


def click_cell(qtbot: QtBot, view: ConfusionView, row: int, column: int) -> None:
    view.grab()  # laid out
    square, cell = view.matrix._square(), view.matrix._cell()
    place = QPointF(square.left() + (column + 0.5) * cell, square.top() + (row + 0.5) * cell).toPoint()
    qtbot.mouseClick(view.matrix, Qt.MouseButton.LeftButton, pos=place)
