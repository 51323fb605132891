"""Some windows of a text as the model gets them, each token told from the next, and the tokens that are most frequent."""

from __future__ import annotations

import html
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from studio.panels.data.page_bar import PageBar
from studio.panels.data.sample_pages import SamplePages
from studio.theme import theme
from studio.widgets import Bar, BarList, Card, StatusPill, label, separator
from training.protocol.answers import TEXTS, DatasetReport, SamplePage

_KINDS = {
    "characters": "Each character is a token.",
    "bytes": "Each byte is a token; those that are no character by themselves are in hexadecimal.",
    "bpe": "Each shade is a token.",
}
_MARKS = {"\n": "⏎\n", "\t": "⇥\t", "\r": "␍"}


class TextCard(Card):
    """Follows ``pages`` and is there only while its dataset is text."""

    def __init__(self, pages: SamplePages) -> None:
        super().__init__("Text", "file")
        self._pages = pages
        self._report: DatasetReport | None = None
        self._page: SamplePage | None = None
        self._size = StatusPill("", "neutral")
        self.add_action(self._size)
        self.bar = PageBar(pages, "passage")
        self.add(self.bar)
        self._names = [label("", "caption") for _ in range(TEXTS)]
        self.texts = [text_label() for _ in range(TEXTS)]
        for name, text in zip(self._names, self.texts, strict=True):
            self.add(name, text)
        self.add(separator(), label("Most frequent tokens in training", "caption"))
        self.bars = BarList(max_rows=10)
        self.bars.setAccessibleName("Share of the most frequent tokens")
        self.add(self.bars)
        pages.changed.connect(self._update)
        theme().changed.connect(self._show_texts)
        self._update()

    def _update(self) -> None:
        report, page = self._pages.report, self._pages.page
        if report is not self._report:
            self._report = report
            is_text = report.layout == "tokens"
            self.setVisible(is_text)
            if is_text:
                self._describe(report)
        if page is not self._page:
            self._page = page
            self._show_texts()

    def _describe(self, report: DatasetReport) -> None:
        self._size.set_status(f"{len(report.classes):,} tokens", "neutral")
        self.set_subtitle(f"As the model gets it. {_KINDS[report.vocabulary]}")
        self.bars.set_bars(
            [
                Bar(_name(row.name), row.share, f"{row.share:.1%}", f"{row.name!r}: {row.share:.2%}")
                for row in report.frequent
            ]
        )

    def _show_texts(self) -> None:
        texts = self._page.texts if self._page is not None else ()
        for number, (name, shown) in enumerate(zip(self._names, self.texts, strict=True)):
            there = number < len(texts)
            name.setVisible(there)
            shown.setVisible(there)
            shown.setFont(theme().font("mono"))  # of the size that the person wants by now
            if there:
                name.setText(texts[number].name.capitalize())
                shown.setText(mark_report(self._pages.report, texts[number].tokens))


def mark_report(report: DatasetReport, tokens: Sequence[str]) -> str:
    """``tokens`` of a text that was inspected, as rich text; each character of its own needs no shades."""
    return mark_tokens(tokens, shades=report.vocabulary == "bpe")


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


def text_label() -> QLabel:
    """For what ``mark_tokens`` makes."""
    made = QLabel()
    made.setTextFormat(Qt.TextFormat.RichText)
    made.setWordWrap(True)
    made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made
