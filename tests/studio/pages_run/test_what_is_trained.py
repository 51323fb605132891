"""The head of a run says what is trained on what, and leads to its settings."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.state.context import AppContext
from tests.studio.window_driver import open_window, press, run_page
from training.config import RunConfig

LINE = "Synthetic shapes → class · Small CNN · AdamW, OneCycleLR 1e-3 · Cross-entropy"


def test_the_head_says_what_is_trained_from_the_start_and_leads_to_its_settings(
    qtbot: QtBot, context: AppContext, config: Callable[..., RunConfig]
) -> None:
    window = open_window(qtbot, context)
    page = run_page(window)
    context.start_run(config("told", seed=7))
    assert page.header.what.text() == LINE  # before there is a folder
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.engine.training)
    assert page.header.what.text() == LINE.replace("Small CNN", "Small CNN 148k").replace("class ", "2 classes ")
    window.resize(900, 600)
    page.header.what.setMaximumWidth(200)
    qtbot.waitUntil(lambda: page.header.what.elide().endswith("…"))
    assert page.header.what.toolTip() == page.header.what.text()
    context.draft.set("seed", 1)
    tab = page.show_tab("config")
    assert "Seed" in [label.text() for label in tab.findChildren(QLabel)]
    press(tab, "Open in Setup")
    assert context.draft.value("seed") == 7
