"""A proof: its verdict, the intervals it rests on, and both curves on each order of the data."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.charts.plots.legend import Swatch
from studio.charts.plots.plot import Plot
from studio.state.formats import format_metric, metric_title
from studio.theme import SPACING, Tone
from studio.widgets import STRETCH, Card, StatusPill, empty, hbox, label, make_breakable, vbox
from training.prove.verdict import TRAIN_LOSS
from training.runs.records.proofs import ArmResult, Difference, Proof

_TONES: dict[str, Tone] = {"cures": "success", "helps": "success", "no difference": "neutral", "harms": "danger"}
_WORDS = {"cures": "Cures it", "helps": "Helps", "no difference": "No difference", "harms": "Harms"}
_ARMS = (("without", "As it is", 3), ("with", "With the fix", 2))
"""Name of a curve, its word in the legend, number of the color."""
_BESIDE = 3  # plots in a row
_MOST = 6
_HEIGHT = 220
_STEEP = 30.0
"""Where the highest loss is so many times the lowest, they are drawn on a logarithmic axis."""


class ProofView(QWidget):
    """Shows one Proof."""

    def __init__(self) -> None:
        super().__init__()
        self._verdict = StatusPill()
        self._when = label("", "caption")
        self._sentence = label("", wrap=True, selectable=True)
        self._rest = label("", "caption", wrap=True, selectable=True)
        self._grid = QGridLayout()
        self._grid.setSpacing(SPACING.m)
        legend = [hbox(Swatch(color), label(word, "caption"), spacing=5) for _name, word, color in _ARMS]
        self._curves = Card()
        self._curves.add(hbox(label("Training loss", "section"), *legend, STRETCH, spacing=SPACING.l), self._grid)
        vbox(
            hbox(self._verdict, self._when, STRETCH),
            self._sentence,
            self._curves,
            self._rest,
            parent=self,
            spacing=SPACING.s,
        )

    def show_proof(self, proof: Proof) -> None:
        """Replace what is shown."""
        self._verdict.set_status(_WORDS[proof.verdict], _TONES[proof.verdict])
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(proof.created)) if proof.created else ""
        self._when.setText(day)
        self._sentence.setText(make_breakable(proof.sentence))
        differences = [text for each in proof.differences if (text := _describe(each))]
        faults = [
            f"Order {number}, {word}: {arm.fault}"
            for number, order in enumerate(proof.orders, 1)
            for word, arm in (("as it is", order.without), ("with the fix", order.with_))
            if arm.fault
        ]
        self._rest.setText(make_breakable("\n".join([*differences, *faults, proof.started, *proof.notes])))
        empty(self._grid)
        shown = proof.orders[:_MOST]
        is_log = _is_steep([arm for order in shown for arm in (order.without, order.with_)])
        for at, order in enumerate(shown):
            plot = Plot(f"Order {at + 1}")
            plot.setFixedHeight(_HEIGHT)
            plot.set_growing(False)
            plot.set_log(is_log)
            plot.set_empty_text("No step was made.")
            for (name, word, color), arm in zip(_ARMS, (order.without, order.with_), strict=True):
                plot.add_curve(name, word, color, is_noisy=False)
                steps = np.arange(proof.start + 1, proof.start + 1 + len(arm.losses), dtype=np.float64)
                plot.set_curve(name, steps, np.array(arm.losses, dtype=np.float64))
            self._grid.addWidget(plot, at // _BESIDE, at % _BESIDE)
            plot.refresh()


def _is_steep(arms: Sequence[ArmResult]) -> bool:
    losses = np.array([loss for arm in arms for loss in arm.losses if math.isfinite(loss)])
    return bool(len(losses)) and losses.min() > 0 and losses.max() > _STEEP * losses.min()


def _describe(difference: Difference) -> str:
    """The means of the arms, and what lies between them."""
    name = difference.metric
    title = metric_title(name)
    title = (
        "Training loss, mean of the last third of the steps" if name == TRAIN_LOSS else title[:1].upper() + title[1:]
    )
    text = f"{title}: {format_metric(name, difference.before)} → {format_metric(name, difference.after)}"
    if math.isfinite(difference.low) and math.isfinite(difference.high):
        text += f" (difference with 95 % confidence: {difference.low:+.3g} to {difference.high:+.3g})"
    return text
