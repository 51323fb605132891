"""A large window is used: forms, what they mean and the run as code beside each other, each as high as there is room."""

from __future__ import annotations

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QTableView, QWidget
from pytestqt.qtbot import QtBot

from studio.pages.setup.page import SetupPage
from studio.pages.setup.previews.model_preview import ModelPreview
from tests.studio.pages_setup.fakes import FakeContext, answer, model_summary


def place(page: SetupPage, part: QWidget) -> QRect:
    return QRect(part.mapTo(page, part.rect().topLeft()), part.size())


def test_three_columns_where_there_is_room_for_them(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    assert not page.code.isVisible()
    answer(context)
    page.resize(2364, 1380)
    qtbot.waitUntil(page.code.isVisible)
    assert page.header.code.isChecked()
    assert "EPOCHS = 5" in page.code.text()
    panel = page.panels[0]
    qtbot.waitUntil(lambda: place(page, panel.preview).right() <= place(page, page.code).left())
    assert place(page, panel.forms[0]).right() < place(page, panel.preview).left()
    assert panel.preview.width() > panel.forms[0].width()
    page.resize(1500, 900)
    qtbot.waitUntil(lambda: not page.code.isVisible())


def test_who_takes_the_code_away_does_not_get_it_again(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    page.resize(2364, 1380)
    qtbot.waitUntil(page.code.isVisible)
    page.header.code.click()
    assert not page.code.isVisible()
    page.resize(1500, 900)
    page.header.code.click()  # for now
    assert page.code.isVisible()
    page.resize(2364, 1380)
    qtbot.waitUntil(lambda: not page.code.isVisible())
    assert not context.settings.get().code_beside
    page.header.code.click()
    assert page.code.isVisible()
    assert context.settings.get().code_beside


def test_a_long_list_of_layers_is_as_high_as_the_page(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    summary = model_summary()
    summary["layers"] = summary["layers"] * 15
    context.engine.summaries[-1].done(summary)
    page.tabs.setCurrentIndex(1)
    table = page.findChildren(ModelPreview)[0].findChildren(QTableView)[0]
    page.resize(1100, 600)
    qtbot.waitUntil(lambda: table.height() < 14 * 30 + 60)
    page.resize(2364, 1380)
    qtbot.waitUntil(lambda: table.height() > 30 * 30)
    qtbot.waitUntil(lambda: not table.verticalScrollBar().isVisible())
