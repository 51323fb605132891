"""The report of a run leaves the window as a page, and comes back as its settings; other data are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.services.notifier import Notification
from studio.state.context import AppContext
from tests.studio.fake_engine import FINGERPRINT
from tests.studio.window_driver import carry, drag, let_go, open_window, overlay
from training.config import RunConfig
from training.embedded_config import EmbeddedConfig

MakeConfig = Callable[..., RunConfig]


@pytest.mark.slow
def test_a_report_is_saved_dropped_and_compared_with_the_data(
    qtbot: QtBot, context: AppContext, config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(qtbot, context)
    told: list[Notification] = []
    context.notifier.notified.connect(told.append)
    context.start_run(config(name="to report"))
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    page = tmp_path / "page.html"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(page), ""))
    window.controller.actions.actions["save_report"].trigger()
    qtbot.waitUntil(lambda: any(each.text == f"Saved as {page}." for each in told), timeout=60_000)

    context.draft.set_config(config(name="another"))
    data = carry(page)
    drag(window, data)
    qtbot.waitUntil(lambda: overlay(window).message() == "Open page.html")
    let_go(overlay(window), data)
    qtbot.waitUntil(lambda: told[-1].title == "Other data than the report's")
    assert context.draft.value("name") == "to report"
    assert told[-1].text.startswith(EmbeddedConfig("", FINGERPRINT).explain_other_data("0" * 64))


def test_the_report_of_a_branch_says_what_it_begins_with(qtbot: QtBot, context: AppContext, tmp_path: Path) -> None:
    open_window(qtbot, context, "setup")
    told: list[Notification] = []
    context.notifier.notified.connect(told.append)
    page = tmp_path / "branch.html"
    page.write_text(EmbeddedConfig('name = "twig"\n', "", "trunk-1/step-00000008").link())
    assert context.open_config(str(page))
    assert context.draft.value("name") == "twig"
    assert "it began with step-00000008 of the run trunk-1, which is needed" in told[-1].text
    assert context.branch is None
