"""Some windows of a text as the model gets them, each token told from the next, and the tokens that are most frequent."""

from __future__ import annotations

import html
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from studio.pages.setup.previews.engine_query import EngineQuery
from studio.theme import theme
from studio.widgets import Bar, BarList, Card, StatusPill, label, separator
from training.protocol.answers import DatasetReport

_KINDS = {
    "characters": "Each character is a token.",
    "bytes": "Each byte is a token; those that are no character by themselves are in hexadecimal.",
    "bpe": "Each shade is a token.",
}
_MARKS = {"\n": "⏎\n", "\t": "⇥\t", "\r": "␍"}
_MOST_TEXTS = 3


class TextCard(Card):
    """Follows ``question`` and is there only while its dataset is text."""

    def __init__(self, question: EngineQuery[DatasetReport]) -> None:
        super().__init__("Text", "file")
        self._question = question
        self._shown: DatasetReport | None = None
        self._size = StatusPill("", "neutral")
        self.add_action(self._size)
        self._names = [label("", "caption") for _ in range(_MOST_TEXTS)]
        self.texts = [_text_label() for _ in range(_MOST_TEXTS)]
        for name, text in zip(self._names, self.texts, strict=True):
            self.add(name, text)
        self.add(separator(), label("Most frequent tokens in training", "caption"))
        self.bars = BarList(max_rows=10)
        self.bars.setAccessibleName("Share of the most frequent tokens")
        self.add(self.bars)
        question.changed.connect(self._update)
        theme().changed.connect(self._show_texts)
        self._update()

    def _update(self) -> None:
        answer = self._question.answer
        if answer is None or answer is self._shown:
            return
        self._shown = answer
        self.setVisible(answer.texts is not None)
        if answer.texts is None:
            return
        self._size.set_status(f"{len(answer.classes):,} tokens", "neutral")
        self.set_subtitle(f"As the model gets it. {_KINDS[answer.vocabulary]}")
        self._show_texts()
        self.bars.set_bars(
            [
                Bar(_name(row.name), row.share, f"{row.share:.1%}", f"{row.name!r}: {row.share:.2%}")
                for row in answer.frequent
            ]
        )

    def _show_texts(self) -> None:
        texts = (self._shown.texts or ()) if self._shown else ()
        whole = self._shown is not None and self._shown.vocabulary != "bpe"
        for number, (name, shown) in enumerate(zip(self._names, self.texts, strict=True)):
            there = number < len(texts)
            name.setVisible(there)
            shown.setVisible(there)
            shown.setFont(theme().font("mono"))  # of the size that the person wants by now
            if there:
                name.setText(texts[number].name.capitalize())
                shown.setText(mark_tokens(texts[number].tokens, shades=not whole))


def mark_tokens(tokens: Sequence[str], *, shades: bool) -> str:
    """``tokens`` as rich text: in two shades by turns where ``shades``, line breaks marked, other than characters in gray."""
    palette = theme().palette
    made = []
    for number, token in enumerate(tokens):
        text = html.escape("".join(_MARKS.get(letter, letter) for letter in token)).replace("\n", "<br>")
        styles = [f"background-color: {palette.selection if number % 2 else palette.success_soft}"] if shades else []
        if token.startswith("<") and token.endswith(">") and len(token) > 2:
            styles.append(f"color: {palette.muted}")
        made.append(f'<span style="{"; ".join(styles)}">{text}</span>' if styles else text)
    return f'<p style="white-space: pre-wrap; margin: 0">{"".join(made)}</p>'


def _name(token: str) -> str:
    """A token as a bar is called: blanks can be seen."""
    return {" ": "␣ blank", "\n": "⏎ line break", "\t": "⇥ tab"}.get(token, token.replace("\n", "⏎").replace(" ", "␣"))


def _text_label() -> QLabel:
    made = QLabel()
    made.setTextFormat(Qt.TextFormat.RichText)
    made.setWordWrap(True)
    made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made
