"""Notices beside a page: they cover no button, whatever the page shows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QAbstractButton, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.pages.setup.page import SetupPage
from studio.state.context import AppContext
from studio.window.dialogs import ReportDialog
from studio.window.main_window import MainWindow
from tests.studio.pages_setup.test_one_rate import choose
from tests.studio.window_driver import open_window, press, runs_page
from training.config import RunConfig

SIZES = ((1280, 800), (900, 600))


def covered(window: MainWindow) -> list[str]:
    """The buttons under a toast that a click should reach."""
    area = window.controller.toasts
    places = [QRect(toast.mapTo(window, QPoint()), toast.size()) for toast in area.toasts()]
    found = []
    for button in window.findChildren(QAbstractButton):
        seen = button.visibleRegion().boundingRect().translated(button.mapTo(window, QPoint()))
        if button.isVisible() and button.isEnabled() and not area.isAncestorOf(button):
            found += [button.text() or button.accessibleName() for place in places if place.intersects(seen)]
    return found


@pytest.mark.parametrize("size", SIZES)
def test_toasts_cover_no_button(
    qtbot: QtBot, context: AppContext, config: Callable[..., RunConfig], size: tuple[int, int]
) -> None:
    window = open_window(qtbot, context)
    window.resize(*size)
    context.start_run(config("pets-4"))
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.engine.training)
    runs = runs_page(window)
    context.library.refresh()
    qtbot.waitUntil(lambda: runs.model.rowCount() == 1 and runs.model.runs_shown()[0].status == "completed")
    runs.choose(runs.model.runs_shown()[0].id)
    for number in range(3):
        context.notifier.notify(
            f"{number}: {context.live.folder}/checkpoints/step-00000020 cannot be written: no space is left there.",
            "danger",
            title="The model was not exported",
            details="Traceback",
            action_text="Show in folder",
            action=lambda: None,
        )
    toasts = window.controller.toasts.toasts()
    assert 1 <= len(toasts) <= 2
    for page in ("run", "runs", "setup"):
        context.show_page(page)
        qtbot.waitUntil(lambda: window.controller.toasts.toasts() == toasts and toasts[0].isVisible())
        QWidget.grab(window)  # laid out
        qtbot.waitUntil(lambda: not covered(window))  # beside a folded rail the page gives way
    press(toasts[-1], "Show details")
    dialog = window.findChild(ReportDialog)
    assert dialog is not None
    assert "Traceback" in dialog.findChildren(QPlainTextEdit)[0].toPlainText()
    dialog.close()


def test_the_notice_on_an_optimizers_scale_goes_with_the_optimizer(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "setup")
    page, area = window.page("setup"), window.controller.toasts
    assert isinstance(page, SetupPage)
    titles = []
    for kind in ("sgd", "muon", "sgd"):
        choose(page, "optimizer", kind)
        titles.append([toast.title for toast in area.toasts()])
        context.draft.set("optimizer.lr", 0.07)  # on purpose
    assert titles == [["Moved to SGD's scale"], ["Moved to Muon's scale"], []]
