"""The size of the text is a preference that is seen at once."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.services.app_settings import AppSettings, load_settings, save_settings
from studio.state.context import AppContext
from studio.theme import stylesheet, tokens
from studio.window.application import text_scale
from studio.window.preferences import PreferencesDialog


def test_a_size_that_is_chosen_is_told_at_once_and_taken_back_by_cancel(
    qtbot: QtBot, qapp: QApplication, context: AppContext, tmp_path: Path
) -> None:
    dialog = PreferencesDialog(context)
    qtbot.addWidget(dialog)
    dialog.text_size.set_current("125")
    assert context.settings.get().text_size == 125
    dialog.reject()
    assert context.settings.get().text_size == 100
    again = PreferencesDialog(context)
    qtbot.addWidget(again)
    again.text_size.set_current("150")
    again._on_accepted()
    save_settings(tmp_path / "settings.json", context.settings.get())
    assert text_scale(load_settings(tmp_path / "settings.json")) == 1.5


def test_a_size_of_nobody_s_choice_is_brought_among_those_that_are_offered() -> None:
    assert text_scale(AppSettings(text_size=7)) == 0.9
    assert text_scale(AppSettings(text_size=900)) == 1.5


def test_what_holds_a_line_of_text_grows_with_it(qapp: QApplication) -> None:
    assert "max-height: 20px" in stylesheet.build(tokens.LIGHT, 1.0)
    assert "max-height: 20px" in stylesheet.build(tokens.LIGHT, 0.9)
    assert "max-height: 30px" in stylesheet.build(tokens.LIGHT, 1.5)
