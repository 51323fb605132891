"""The run as code, beside the forms."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from studio.pages.setup.code_view import find_changed_lines
from studio.pages.setup.page import SetupPage
from training.protocol.answers import TablePreview


def test_follows_the_forms_and_marks_what_an_edit_changed(page: SetupPage, qtbot: QtBot) -> None:
    page.show()
    page.header.code.click()
    assert "EPOCHS = 5" in page.code.text()
    page.draft.set("loop.epochs", 7)
    qtbot.waitUntil(lambda: "EPOCHS = 7" in page.code.text())
    lines = page.code.text().splitlines()
    assert [lines[number] for number in page.code.changed_lines()] == ["EPOCHS = 7"]
    page.code.copy.click()
    assert QGuiApplication.clipboard().text() == page.code.text()


def test_keeps_the_last_script_while_a_setting_has_to_be_mended(page: SetupPage, qtbot: QtBot) -> None:
    page.show()
    page.header.code.click()
    before = page.code.text()
    page.draft.set("loop.epochs", 0)
    qtbot.waitUntil(lambda: not page.code.editor.isEnabled())
    said = page.code.said.text()
    assert said.startswith("Epochs: must be ")
    assert said.endswith("Below is the last script.")
    assert page.code.text() == before
    page.draft.set("loop.epochs", 3)
    qtbot.waitUntil(page.code.editor.isEnabled)
    assert "EPOCHS = 3" in page.code.text()


def test_says_what_the_script_does_not_read_of_a_table(
    page: SetupPage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.show()
    page.header.code.click()
    question, why = page.previews.dataset, "dataset.features: column 'day' holds dates or times"
    monkeypatch.setattr(type(question), "in_step", True)  # nobody asks an engine here
    question.table = TablePreview(columns=(), column_count=0, rows=(), unread=why)
    question.changed.emit()
    qtbot.waitUntil(lambda: not page.code.editor.isEnabled())
    assert page.code.said.text() == f"{why} Below is the last script."


def test_finds_the_lines_that_differ() -> None:
    assert find_changed_lines("a\nb\nc", "a\nx\nc\nd") == [1, 3]
