"""The rail folds to its icons where the window is narrow, or where a person wants it to."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot

from studio.pages.setup.page import SetupPage
from studio.state.context import AppContext
from studio.theme import apply
from studio.window.main_window import MainWindow
from tests.studio.window_driver import open_window


def fold_button(window: MainWindow) -> QToolButton:
    return next(button for button in window.rail.findChildren(QToolButton) if "of the areas" in button.toolTip())


def test_a_narrow_window_folds_the_rail_so_that_form_and_preview_stand_side_by_side(
    qtbot: QtBot, context: AppContext
) -> None:
    window = open_window(qtbot, context, "setup")
    page = window.page("setup")
    assert isinstance(page, SetupPage)
    window.resize(1280, 800)
    qtbot.waitUntil(lambda: not window.rail.folded and window.rail.width() >= 190)
    for size in ((900, 600), (1000, 640)):
        window.resize(*size)
        qtbot.waitUntil(lambda: window.rail.folded and window.rail.width() < 70)
        form, preview = page.panels[0].forms[0], page.panels[0].preview
        qtbot.waitUntil(lambda: preview.mapTo(page, preview.rect().topLeft()).x() > form.width())  # noqa: B023
        assert preview.mapTo(window, preview.rect().topRight()).x() < window.width()
    assert window.rail._items["setup"].toolTip().startswith("Setup: ")  # the word that is not to be read is to be had


def test_what_a_person_chose_is_kept_and_chosen_back_lets_the_width_decide(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "setup")
    window.resize(1280, 800)
    qtbot.mouseClick(fold_button(window), Qt.MouseButton.LeftButton)
    assert (window.rail.folded, context.settings.get().rail) == (True, "folded")
    next_window = MainWindow(context.settings)
    qtbot.addWidget(next_window)
    next_window.show()
    assert next_window.rail.folded
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    assert (window.rail.folded, context.settings.get().rail) == (False, "auto")
    window.resize(900, 600)
    qtbot.waitUntil(lambda: window.rail.folded)
    qtbot.mouseClick(fold_button(window), Qt.MouseButton.LeftButton)
    assert (window.rail.folded, context.settings.get().rail) == (False, "open")


def test_a_notice_beside_a_folded_rail_moves_nothing_and_the_theme_can_still_be_chosen(
    qtbot: QtBot, context: AppContext
) -> None:
    window = open_window(qtbot, context, "setup")
    window.resize(900, 600)
    qtbot.waitUntil(lambda: window.rail.folded and window.stack.width() > 800)
    before = window.stack.geometry()
    context.notifier.notify("A word.", "warning")
    (toast,) = window.controller.toasts.toasts()
    assert toast.isVisible()
    assert window.rail.folded
    assert window.stack.geometry() == before
    assert toast.mapTo(window, toast.rect().topLeft()).x() >= window.rail.width()
    assert window.theme_choice.isVisible()
    assert window.rail.rect().contains(window.theme_choice.mapTo(window.rail, window.theme_choice.rect().bottomRight()))


def test_in_a_narrow_page_the_preview_is_a_drawer_that_keeps_its_state(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "setup")
    page = window.page("setup")
    assert isinstance(page, SetupPage)
    panel = page.panels[0]
    context.settings.update(rail="open")
    window._fold_rail()
    window.resize(900, 600)
    handle = panel.handle
    assert handle is not None
    qtbot.waitUntil(lambda: handle.isVisible() and not panel.preview.isVisible())
    handle.setFocus()
    qtbot.keyClick(handle, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: panel.preview.isVisible())
    assert panel.forms[0].isVisible()
    page.tabs.setCurrentIndex(1)
    other = page.panels[1].handle
    assert other is not None
    assert other.isChecked()
    page.tabs.setCurrentIndex(0)
    qtbot.keyClick(handle, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not panel.preview.isVisible())
    assert not handle.isChecked()
    window.resize(1280, 800)
    qtbot.waitUntil(lambda: panel.preview.isVisible() and not handle.isVisible())


def test_the_code_has_room_for_its_lines_in_the_smallest_window(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "setup")
    page = window.page("setup")
    assert isinstance(page, SetupPage)
    window.resize(900, 600)
    page.header.code.setChecked(True)
    qtbot.waitUntil(lambda: page.code.isVisible() and page.code.editor.viewport().width() > 350)


@pytest.mark.slow
def test_text_of_another_size_lets_the_width_choose_again(
    qtbot: QtBot, qapp: QApplication, context: AppContext
) -> None:
    window = open_window(qtbot, context, "setup")
    window.resize(1280, 800)
    qtbot.waitUntil(lambda: not window.rail.folded)
    apply(qapp, "light", font_scale=1.5)
    assert window.rail.folded
    apply(qapp, "light", font_scale=1.0)
    assert not window.rail.folded
