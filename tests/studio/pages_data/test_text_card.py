"""Text on the Data page: what the model gets, token by token."""

from typing import Any

from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.pages.data.page import DataPage
from studio.panels.data.facts import fact_rows
from studio.panels.data.text_card import mark_tokens
from studio.theme import DARK, LIGHT, theme
from studio.widgets.bars import BarModel
from tests.studio.pages_setup.fakes import FakeContext, report
from training.protocol.answers import DatasetReport


def text_report(**changes: Any) -> dict[str, Any]:
    found = report(480) | {
        "layout": "tokens",
        "target": "tokens",
        "classes": ["<unknown>", "\n", " ", "a", "b"],
        "class_count": 5,
        "counts": {"train": [], "validation": []},
        "shape": [64],
        "first_page": {
            "total": 480,
            "texts": [
                {"name": "tokens 128 to 192", "tokens": ["the", " fox", "\n", " <&"]},
                {"name": "tokens 0 to 64", "tokens": ["a"]},
            ],
        },
        "vocabulary": "bpe",
        "token_counts": {"train": 31_000, "validation": 3_400},
        "frequent": [{"name": " ", "share": 0.25}, {"name": "a", "share": 0.125}],
    }
    return found | changes


def plain(rich: str) -> str:
    document = QTextDocument()
    document.setHtml(rich)
    return document.toPlainText()


def test_windows_are_shown_token_by_token(qtbot: QtBot, page: DataPage, context: FakeContext) -> None:
    context.engine.inspections[-1].done(text_report())
    card = page.text
    assert not card.isHidden()
    assert plain(card.texts[0].text()) == "the fox⏎\n <&"
    assert [text.isHidden() for text in card.texts] == [False, False, True]
    assert card.texts[0].text().count("<span") == 4
    assert card.texts[0].text().count(LIGHT.selection) == 2
    model = card.bars.model()
    assert isinstance(model, BarModel)
    assert [(bar.label, bar.figure()) for bar in model.bars] == [("␣ blank", "25.0%"), ("a", "12.5%")]
    context.draft.set("dataset.samples", 600)
    qtbot.waitUntil(lambda: len(context.engine.inspections) == 2)
    context.engine.inspections[-1].done(report(480))
    assert card.isHidden()


def test_characters_need_no_shades(page: DataPage, context: FakeContext) -> None:
    context.engine.inspections[-1].done(text_report(vocabulary="characters"))
    card = page.text
    assert "background" not in card.texts[0].text()


def test_shades_follow_the_theme(page: DataPage, context: FakeContext, qapp: QApplication) -> None:
    context.engine.inspections[-1].done(text_report())
    card = page.text
    chosen = theme()
    chosen.dress(qapp, "dark", 1.0)
    try:
        assert DARK.selection in card.texts[0].text()
        assert LIGHT.selection not in card.texts[0].text()
    finally:
        chosen.dress(qapp, "light", 1.0)


def test_marks_stand_for_what_cannot_be_seen() -> None:
    assert plain(mark_tokens(["a\tb", "\r\n", "<E2 82>", "<"], shades=True)) == "a⇥\tb␍⏎\n<E2 82><"
    assert "color" not in mark_tokens(["<", "a"], shades=False)


def test_facts_tell_of_tokens() -> None:
    rows = dict(fact_rows(DatasetReport.model_validate(text_report())))
    assert rows["Input shape"] == "64 tokens and the one that follows"
    assert rows["Tokens for training"] == "31,000"
    assert rows["Tokens for validation"] == "3,400"
