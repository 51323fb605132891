"""Ways to the sweeps of a window."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from studio.forms.sweep_entry import add_sweep_entry
from studio.pages.studies.page import StudiesPage
from studio.pages.studies.sweeps.tab import SweepsTab
from studio.state.context import AppContext
from studio.window.main_window import MainWindow
from tests.studio.window_driver import open_window


def sweeps_tab(qtbot: QtBot, window: MainWindow) -> SweepsTab:
    page = window.page("studies/sweeps")
    assert isinstance(page, StudiesPage | SweepsTab)
    tab = page.front() if isinstance(page, StudiesPage) else page
    assert isinstance(tab, SweepsTab)
    qtbot.waitUntil(lambda: tab._context.sweeps.list.loaded)
    return tab


def open_tab(qtbot: QtBot, context: AppContext) -> SweepsTab:
    return sweeps_tab(qtbot, open_window(qtbot, context, "studies/sweeps"))


def entry_of(context: AppContext, path: str, text: str) -> None:
    """Choose an entry of a setting's menu."""
    menu = QMenu()
    add_sweep_entry(menu, context.draft, path)
    next(action for action in menu.actions() if action.text() == text).trigger()
