"""The passage that is looked at, each token in the color of its loss, and the tokens that cost most."""

from __future__ import annotations

import logging
import math
from functools import partial
from html import escape

import numpy as np
from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QTextBrowser

from studio.pages.evaluate.view import View
from studio.pages.evaluate.views.row_table import RowTable
from studio.state.context import AppContext
from studio.state.evaluations.selection import Selection
from studio.state.evaluations.token_losses import TokenLoss, find_token, find_worst_tokens
from studio.state.formats import format_number, format_percent
from studio.theme import font, theme
from studio.widgets import label
from training.predictions import Evaluation, EvaluationRecord
from training.system.plain_table import Table
from training.system.token_text import show_tokens

logger = logging.getLogger(__name__)

_MOST_TOKENS = 200
_HEIGHT = 220
_STRONGEST = 0.6
"""Of the color of a loss in that of the card: letters stay readable on it."""
_STEPS = 8
_HINT = "Point at a token to see its loss. Click it to see all passages in which it is to be predicted."


class TokensView(View):
    """A token as bad as guessing has the full color. The tokens of the selection are counted in the background."""

    key = "tokens"
    heading = "Tokens"
    tab = "Tokens"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self.evaluation: Evaluation | None = None
        self.worst: list[TokenLoss] = []
        self._texts: list[str] = []
        self._asked = 0  # the last count that was asked for
        self.title = label("", "caption")
        self.passage = QTextBrowser()
        self.passage.setAccessibleName("Passage, colored by loss")
        self.passage.setOpenLinks(False)
        self.passage.setFixedHeight(_HEIGHT)
        self.passage.setFont(font("mono"))
        self.passage.highlighted.connect(self._tell)
        self.passage.anchorClicked.connect(self._choose_link)
        self.legend = label("", "caption")
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        self.words = label(_HINT, "help", wrap=True)
        self.words.setMinimumHeight(2 * self.words.fontMetrics().lineSpacing())  # nothing moves while it changes
        self.table = RowTable("Tokens of the largest loss", ("Token", "Occurrences", "Mean loss"), (1, 2), 8)
        self.table.row_chosen.connect(lambda row: self.choose_token(self.worst[row].token))
        self.add(self.title, self.passage, self.legend, self.words)
        self.add(label("Worst tokens of the selected passages", "caption"), self.table)
        self.offer(self.passage, self._tabulate)
        selection.looked_at_changed.connect(self._show_passage)
        theme().changed.connect(self._show_passage)

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return record.target == "tokens" and "token_loss" in record.columns

    def show_evaluation(self, evaluation: Evaluation) -> None:
        if self.evaluation is None or evaluation.record.names != self.evaluation.record.names:
            self._texts = show_tokens(evaluation.record.names)
        self.evaluation = evaluation

    def follow(self) -> None:
        self._show_passage()
        evaluation, mask = self.evaluation, self.selection.mask_of_others(self.key)
        if evaluation is None:
            return
        rows = np.arange(evaluation.record.samples) if mask is None else np.flatnonzero(mask)
        self._asked += 1
        self.context.background.submit(
            lambda: find_worst_tokens(evaluation, rows, _MOST_TOKENS),
            partial(self._take, self._asked),
            lambda error: logger.warning("The tokens of %s cannot be counted: %s", evaluation.folder, error),
        )

    def choose_token(self, token: int) -> None:
        """Choose the passages in which ``token`` is to be predicted."""
        self.choose(f"Token “{_make_visible(self._texts[token])}”", partial(find_token, token=token), token)

    def describe_token(self, place: int) -> str:
        """What the token at ``place`` of the passage cost, and what was predicted."""
        evaluation, row = self.evaluation, self.selection.looked_at
        if evaluation is None or row < 0:
            return ""
        target, prediction = (int(evaluation.column(name)[row, place]) for name in ("target", "prediction"))
        loss = float(evaluation.column("token_loss")[row, place])
        said = "predicted, too" if target == prediction else f"predicted: “{_make_visible(self._texts[prediction])}”"
        true = f"“{_make_visible(self._texts[target])}”" if target >= 0 else "Not counted"
        return f"{true}: loss {format_number(loss, 3)}, probability {format_percent(math.exp(-loss))}; {said}"

    # ------------------------------------------------------------------------------------------- inside

    def _take(self, asked: int, worst: list[TokenLoss]) -> None:
        if asked == self._asked:
            self.worst = worst
            rows = [(_make_visible(self._texts[at]), f"{count:,}", format_number(loss)) for at, count, loss in worst]
            self.table.rows.replace(rows)

    @Slot()
    def _show_passage(self) -> None:
        evaluation, row = self.evaluation, self.selection.looked_at
        if evaluation is None or row < 0 or self.selection.evaluation is not evaluation:
            return
        target = evaluation.column("target")[row].tolist()
        losses = np.asarray(evaluation.column("token_loss")[row], np.float64).tolist()
        most = math.log(max(len(self._texts), 2))
        self.title.setText(f"{evaluation.names[row]}, mean loss {format_number(float(np.mean(losses)), 3)}")
        chosen = self.find_chosen()
        tokens = [
            self._mark_up(place, token, loss / most, token == chosen)
            for place, (token, loss) in enumerate(zip(target, losses, strict=True))
        ]
        self.passage.setHtml(f'<div style="white-space: pre-wrap">{"".join(tokens)}</div>')
        steps = "".join(
            f'<span style="background-color: {blend_color(at / _STEPS)}">&nbsp;&nbsp;&nbsp;</span>'
            for at in range(_STEPS + 1)
        )
        self.legend.setText(f"Loss 0 {steps} {format_number(most, 3)} (as bad as guessing) or more")
        self.words.setText(_HINT)

    def _mark_up(self, place: int, token: int, share: float, is_chosen: bool) -> str:
        text = self._texts[token] if 0 <= token < len(self._texts) else "□"
        shown = escape(_make_visible(text)) + ("<br>" if text.endswith("\n") else "")
        palette = theme().palette
        line = "underline" if is_chosen else "none"
        style = f"background-color: {blend_color(share)}; color: {palette.text}; text-decoration: {line}"
        return f'<a href="#{place}" style="{style}">{shown}</a>'

    @Slot(QUrl)
    def _tell(self, link: QUrl) -> None:
        place = link.fragment()
        self.words.setText(self.describe_token(int(place)) if place.isdigit() else _HINT)

    @Slot(QUrl)
    def _choose_link(self, link: QUrl) -> None:
        evaluation, place = self.evaluation, link.fragment()
        if evaluation is not None and place.isdigit():
            token = int(evaluation.column("target")[self.selection.looked_at, int(place)])
            if token >= 0:
                self.choose_token(token)

    def _tabulate(self) -> Table:
        return {
            "token": [self._texts[each.token] for each in self.worst],
            "occurrences": [each.occurrences for each in self.worst],
            "mean loss": [each.loss for each in self.worst],
        }


def blend_color(share: float) -> str:
    """The color of a loss, from 0 to 1, on the card's own."""
    palette = theme().palette
    low, high = QColor(palette.surface), QColor(palette.danger)
    part = min(max(share, 0.0), 1.0) * _STRONGEST
    ends = (low.red(), high.red()), (low.green(), high.green()), (low.blue(), high.blue())
    red, green, blue = (round(start + (end - start) * part) for start, end in ends)
    return QColor(red, green, blue).name()


def _make_visible(text: str) -> str:
    return text.replace("\n", "↵").replace("\t", "⇥").replace("\r", "␍") or "∅"
