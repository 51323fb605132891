"""How a person divided a page is so again at the next start, in a window of another size, too."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QSplitter
from pytestqt.qtbot import QtBot

from studio.state.context import AppContext
from tests.studio.pages_evaluate.page_driver import open_page


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.usefixtures("run")
def test_the_views_and_the_samples(qtbot: QtBot, context: AppContext, damaged: bool) -> None:
    page = open_page(qtbot, context)
    split = page.samples.parentWidget()
    assert isinstance(split, QSplitter)
    usual = split.sizes()
    handle = split.handle(1)
    middle = handle.rect().center()
    qtbot.mousePress(handle, Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseMove(handle, middle - QPoint(120, 0))
    qtbot.mouseRelease(handle, Qt.MouseButton.LeftButton, pos=middle - QPoint(120, 0))
    moved = split.sizes()
    assert moved[1] > usual[1] + 60
    qtbot.waitUntil(lambda: context.settings.get().splits == f"evaluate-horizontal {moved[0]} {moved[1]}")
    if damaged:
        context.settings.update(splits="evaluate-horizontal wide")
    again = open_page(qtbot, context).samples.parentWidget()
    assert isinstance(again, QSplitter)
    assert again.sizes() == (usual if damaged else moved)
    again.resize(again.width() * 2, again.height())
    share = again.sizes()[1] / sum(again.sizes())
    assert damaged or share == pytest.approx(moved[1] / sum(moved), abs=0.01)
