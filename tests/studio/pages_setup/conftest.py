"""A Setup page with an engine that answers when the test says so."""

from typing import cast

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.pages.setup.page import SetupPage
from studio.state.context import AppContext
from studio.theme import dress_at_end
from studio.window.drop_overlay import DropOverlay
from tests.studio.pages_setup.fakes import FakeContext


@pytest.fixture
def context(qapp: QApplication) -> FakeContext:
    return FakeContext()


@pytest.fixture
def page(qtbot: QtBot, qapp: QApplication, context: FakeContext) -> SetupPage:
    with dress_at_end(qapp):
        made = SetupPage(cast("AppContext", context), preview_delay=0)
        qtbot.addWidget(made)
        DropOverlay(made, cast("AppContext", context), made.other_data.take, lambda: None)  # the window's part
    made.resize(1100, 760)
    made.show()
    qtbot.waitUntil(lambda: bool(context.engine.inspections and context.engine.summaries))
    return made
