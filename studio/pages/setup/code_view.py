"""The run as a short script, live beside the forms."""

from __future__ import annotations

import difflib
import io
import keyword
import tokenize
from collections.abc import Callable, Iterator, Sequence

from PySide6.QtCore import QSize, QTimer
from PySide6.QtGui import QColor, QHideEvent, QShowEvent, QSyntaxHighlighter, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from studio.actions.files import copy_text
from studio.panels.data.engine_query import EngineQuery
from studio.state.drafts.draft import Draft
from studio.theme import SPACING, theme
from studio.widgets import MonoText, hbox, icon_button, label, vbox
from training.errors import TrainingError
from training.protocol.answers import DatasetReport

_REST = 150  # milliseconds after an edit
_FILE = "train.py"
_LINE = 56  # letters of a line that are to be seen in a window however narrow


class PythonHighlighter(QSyntaxHighlighter):
    """Colors words as Python's own tokenizer tells them apart; ``read`` before the document gets that text."""

    def __init__(self, editor: QPlainTextEdit) -> None:
        super().__init__(editor.document())
        self._spans: dict[int, list[tuple[int, int, str]]] = {}

    def read(self, text: str) -> None:
        """Find the words of ``text`` that have a color."""
        self._spans = {}
        for first, last, tone in _find_tones(text):
            for line in range(first[0], last[0] + 1):
                start = first[1] if line == first[0] else 0
                end = last[1] if line == last[0] else 10_000
                self._spans.setdefault(line, []).append((start, end - start, tone))

    def highlightBlock(self, text: str) -> None:
        palette = theme().palette
        colors = {
            "keyword": palette.accent_text,
            "string": palette.success,
            "comment": palette.muted,
            "number": palette.warning,
        }
        for start, length, tone in self._spans.get(self.currentBlock().blockNumber() + 1, ()):
            form = QTextCharFormat()
            form.setForeground(QColor(colors[tone]))
            self.setFormat(start, min(length, len(text) - start), form)


def _find_tones(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int], str]]:
    kinds = {tokenize.STRING: "string", tokenize.COMMENT: "comment", tokenize.NUMBER: "number"}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        tone = "keyword" if keyword.iskeyword(token.string) else kinds.get(token.type, "")
        if token.type >= tokenize.N_TOKENS or not tone:
            continue
        yield token.start, token.end, tone


def find_changed_lines(before: str, after: str) -> list[int]:
    """The lines of ``after``, counted from 0, that ``before`` has otherwise or not at all."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return [line for tag, _, _, start, end in matcher.get_opcodes() if tag != "equal" for line in range(start, end)]


class CodeView(QWidget):
    """What ``export --to tutorial`` would write. While a setting has to be mended, the last script stays, dimmed, below a sentence
    that says which: the first of ``problem_sentences()``, as (path, sentence with the field's name); so it does while ``dataset`` is a
    table of which the script would not read something."""

    def __init__(
        self,
        draft: Draft,
        dataset: EngineQuery[DatasetReport],
        problem_sentences: Callable[[], Sequence[tuple[str, str]]],
    ) -> None:
        super().__init__()
        self._draft = draft
        self._problem_sentences = problem_sentences
        self._dataset = dataset
        self._text = ""
        self._changed: list[int] = []
        self.said = label("", "help", wrap=True)
        self.copy = icon_button("copy", "Copy the script", clicked=lambda: copy_text(self._text))
        self.editor = MonoText("The run as code")
        self.editor.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.highlighter = PythonHighlighter(self.editor)
        head = hbox((self.said, 1), self.copy)
        vbox(
            head,
            (self.editor, 1),
            parent=self,
            margins=(SPACING.s, SPACING.m, SPACING.l, SPACING.m),
        )
        self._timer = QTimer(self, interval=_REST, singleShot=True)
        self._timer.timeout.connect(self.refresh)
        draft.changed.connect(self._follow)
        draft.problems_changed.connect(self._follow)
        dataset.changed.connect(self._follow)
        theme().changed.connect(self._recolor)

    def minimumSizeHint(self) -> QSize:
        """Room for a line of code of middling length."""
        return QSize(self.editor.fontMetrics().averageCharWidth() * _LINE, super().minimumSizeHint().height())

    def text(self) -> str:
        """The script that is shown."""
        return self._text

    def changed_lines(self) -> list[int]:
        """Those that the last edit changed, counted from 0."""
        return self._changed

    def refresh(self) -> None:
        """Show the script of the settings as they are."""
        from training.tutorial.script import write_short_script  # not before somebody looks: it takes jinja along

        config = self._draft.config()
        if config is None or self._draft.problems():
            _, sentence = next(iter(self._problem_sentences()), ("", "Something has to be mended first."))
            self._dim(sentence)
            return
        table = self._dataset.table if self._dataset.in_step else None
        if table is not None and table.unread:
            self._dim(table.unread)
            return
        try:
            text = write_short_script(config, _FILE).text
        except TrainingError as error:
            self._dim(str(error))
            return
        self.editor.setEnabled(True)
        self.said.setText("This run as a short script to read (export: Python script, short).")
        if text != self._text:
            self._changed = find_changed_lines(self._text, text) if self._text else []
            self._text = text
            self.highlighter.read(text)
            self.editor.setPlainText(text)
            self._mark()

    def _dim(self, why: str) -> None:
        self.said.setText(f"{why} Below is the last script." if self._text else why)
        self.editor.setEnabled(False)

    def _mark(self) -> None:
        marks = []
        for line in self._changed:
            mark = QTextEdit.ExtraSelection()
            mark.format.setBackground(QColor(theme().palette.accent_soft))
            mark.format.setProperty(QTextCharFormat.Property.FullWidthSelection, True)
            mark.cursor = QTextCursor(self.editor.document().findBlockByNumber(line))
            marks.append(mark)
        self.editor.setExtraSelections(marks)
        if self._changed:
            self.editor.setTextCursor(QTextCursor(self.editor.document().findBlockByNumber(self._changed[0])))
            self.editor.centerCursor()

    def _recolor(self) -> None:
        self.highlighter.rehighlight()
        self._mark()

    def _follow(self) -> None:
        if self.isVisible():
            self._timer.start()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()
