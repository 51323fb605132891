"""The help: every page can be reached, searched and left again."""

from __future__ import annotations

import re

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.pages.setup.page import SetupPage
from studio.state.context import AppContext
from studio.window.dialogs import ShortcutsDialog
from studio.window.help import TOPICS, HelpWindow
from studio.window.main_window import MainWindow
from tests.studio.window_driver import answer_next_dialog, open_window
from training.findings import RULES
from training.system.resources import find_resources

FOLDER = find_resources("studio", "help")


def opened_help(window: MainWindow) -> HelpWindow:
    assert window.controller.help is not None
    return window.controller.help


def test_f1_opens_the_page_about_what_is_in_front(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "runs")
    qtbot.keyClick(window, Qt.Key.Key_F1)
    help_window = opened_help(window)
    assert help_window.isVisible()
    assert help_window.topic == "runs"
    window.show_page("run")
    qtbot.keyClick(window, Qt.Key.Key_F1)
    assert opened_help(window) is help_window
    assert help_window.topic == "training"


def test_each_panel_of_the_setup_has_its_page(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "setup")
    page = window.page("setup")
    assert isinstance(page, SetupPage)
    found = []
    for tab in range(page.tabs.count()):
        page.tabs.setCurrentIndex(tab)
        page.header.help.click()
        found.append(opened_help(window).topic)
    assert found == ["data", "models", "optimizer", "loop"]


def test_a_search_keeps_the_pages_that_have_all_words_and_shows_the_place(qtbot: QtBot) -> None:
    help_window = HelpWindow()
    qtbot.addWidget(help_window)
    qtbot.keyClicks(help_window.search, "teacher distillation")
    kept = [
        help_window.pages.item(row).text() for row in range(len(TOPICS)) if not help_window.pages.item(row).isHidden()
    ]
    assert "Models" in kept
    assert "Runs" not in kept
    assert help_window.topic in ("data", "models")
    assert help_window.text.textCursor().selectedText().lower() == "teacher"
    help_window.search.setText("teacher qwertz")
    assert "No page has all of these words" in help_window.nothing.text()
    help_window.search.clear()
    assert help_window.nothing.isHidden()
    assert not any(help_window.pages.item(row).isHidden() for row in range(len(TOPICS)))


def test_a_finding_is_opened_at_its_own_entry_in_sight(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "run")
    for code in ("loss.diverged", *RULES):  # the first opens the help
        window.controller.show_help(f"findings#{code}")
        text = opened_help(window).text
        assert text.textCursor().block().text() == f"{RULES[code].title} {code}"
        bar, top = text.verticalScrollBar(), text.cursorRect().top()
        assert 0 <= top < text.viewport().height() / 3 or bar.value() == bar.maximum(), code


def test_links_lead_to_pages_and_back(qtbot: QtBot) -> None:
    help_window = HelpWindow()
    qtbot.addWidget(help_window)
    assert not help_window.back.isEnabled()
    help_window.show_topic("models")
    assert help_window.pages.currentItem().text() == "Models"
    help_window.back.click()
    assert help_window.topic == "getting-started"


def test_every_page_is_listed_and_every_link_leads_somewhere() -> None:
    pages = {file.stem: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.md")}
    assert sorted(pages) == sorted(TOPICS)
    for name, text in pages.items():
        assert text.startswith("# "), name
        for link in re.findall(r"\]\(([^)]+)\)", text):
            assert (FOLDER / link).is_file(), (name, link)


def test_all_keys_and_what_the_mouse_does_in_charts_stand_in_the_help_menu(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context)
    menu = window.menu_button.menu()
    assert menu is not None
    assert [action.text() for action in menu.actions()] == ["File", "Edit", "Run", "View", "Help"]
    read = answer_next_dialog(qtbot, ShortcutsDialog, "Close")
    window.controller.actions.actions["shortcuts"].trigger()
    told = read[0].splitlines()
    for title, keys in (
        ("Undo a setting", "Ctrl+Z"),
        ("Find a setting", "Ctrl+F"),
        ("Zoom a chart at the pointer", "Ctrl+Wheel"),
    ):
        assert told.index(keys) == told.index(title) + 1


def test_glossary_is_a_command(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context)
    window.controller.actions.actions["glossary"].trigger()
    assert window.controller.help is not None
    assert window.controller.help.topic == "glossary"
