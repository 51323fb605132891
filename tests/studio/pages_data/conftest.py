"""A Data page with an engine that answers when the test says so."""

from typing import cast

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.pages.data.page import DataPage
from studio.state.context import AppContext
from studio.theme import dress_at_end
from tests.studio.pages_setup.fakes import FakeContext


@pytest.fixture
def context(qapp: QApplication) -> FakeContext:
    return FakeContext()


@pytest.fixture
def page(qtbot: QtBot, qapp: QApplication, context: FakeContext) -> DataPage:
    with dress_at_end(qapp):
        made = DataPage(cast("AppContext", context), delay=0)
        qtbot.addWidget(made)
    made.resize(1000, 700)
    made.show()
    qtbot.waitUntil(lambda: bool(context.engine.inspections))
    return made
