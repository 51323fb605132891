"""How large the losses are: a histogram in which a range is chosen."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from studio.charts.range_picker import Bars, RangePicker
from studio.pages.evaluate.view import View
from studio.state.context import AppContext
from studio.state.evaluations.selection import Selection
from studio.state.formats import format_number
from studio.widgets import label
from training.predictions import Evaluation, EvaluationRecord
from training.system.plain_table import Table

_BINS = 40
_SMALLEST = 1e-4
"""Losses below are as good as none: they share the first bar."""


class LossView(View):
    """Bars of equal width on a logarithmic scale: most losses are small, and the large ones are what is looked for."""

    key = "loss"
    heading = "Losses"
    tab = "Metrics"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self.chart = RangePicker()
        self.chart.chosen.connect(self._on_chosen)
        self._edges: NDArray[np.float64] = np.zeros(0)
        self._bins: NDArray[np.int64] = np.zeros(0, np.int64)  # of each sample
        self.add(
            self.chart, label("Drag over bars to choose samples by their loss (logarithmic scale).", "help", wrap=True)
        )
        self.offer(self.chart, self._tabulate)

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return record.has_losses

    def show_evaluation(self, evaluation: Evaluation) -> None:
        losses = np.asarray(evaluation.column("loss"), np.float64)
        self._edges = find_edges(losses)
        self._bins = bin_losses(losses, self._edges)
        counts = np.bincount(self._bins[self._bins >= 0], minlength=_BINS).tolist()
        self.chart.set_bins("Losses of the samples", self._edges.tolist(), counts, None)

    def follow(self) -> None:
        mask = self.selection.mask_of_others(self.key)
        if mask is None:
            self.chart.set_part(None)
        else:
            bins = self._bins[mask]
            self.chart.set_part(np.bincount(bins[bins >= 0], minlength=_BINS).tolist())
        self.chart.mark(self._find_bars(self.find_chosen()))

    def _find_bars(self, chosen: object) -> Bars | None:
        """The bars of what was chosen, perhaps in another epoch, which has other bars."""
        if not isinstance(chosen, tuple):
            return None
        middles = np.sqrt(self._edges[:-1] * self._edges[1:])
        inside = np.flatnonzero((middles >= chosen[0]) & (middles < chosen[1]))
        return (int(inside[0]), int(inside[-1])) if len(inside) else None

    def _on_chosen(self, bars: Bars | None) -> None:
        if bars is None:
            self.selection.remove(self.key)
            return
        low = float(self._edges[bars[0]]) if bars[0] else 0.0
        high = float(self._edges[bars[1] + 1])
        words = f"Loss {format_number(low, 3)} to {format_number(high, 3)}"
        self.choose(words, partial(find_between, low=low, high=high), (low, high))

    def _tabulate(self) -> Table:
        counts = np.bincount(self._bins[self._bins >= 0], minlength=_BINS)
        chosen = self._bins[self.selection.rows]
        return {
            "from": self._edges[:-1].tolist(),
            "to": self._edges[1:].tolist(),
            "samples": counts.tolist(),
            "selected": np.bincount(chosen[chosen >= 0], minlength=_BINS).tolist(),
        }


def find_between(evaluation: Evaluation, *, low: float, high: float) -> NDArray[np.bool_]:
    """The samples whose loss is at least ``low`` and below ``high``."""
    losses = np.asarray(evaluation.column("loss"), np.float64)
    return (losses >= low) & (losses < high)


def find_edges(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """The edges of the bars, float64 (bins + 1,), each the same factor above the one before. A loss that is not a number is in none."""
    finite = losses[np.isfinite(losses)]
    if not len(finite):
        return np.geomspace(_SMALLEST, 1.0, _BINS + 1)
    low = max(float(finite.min()), _SMALLEST)
    high = max(float(finite.max()), low * 1.01)
    edges = np.geomspace(low, high, _BINS + 1)
    edges[-1] = high * (1 + 1e-9)  # the largest is in the last one, whatever was rounded
    return edges


def bin_losses(losses: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bar of each loss; -1 for what is not a number."""
    bins = np.clip(np.searchsorted(edges, losses, "right") - 1, 0, len(edges) - 2)
    return np.where(np.isfinite(losses), bins, -1)
