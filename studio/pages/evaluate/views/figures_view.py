"""How good each image or query is, as a histogram in which a range is chosen."""

from __future__ import annotations

import logging
from functools import partial

import numpy as np
from numpy.typing import NDArray

from studio.charts.range_picker import Bars, RangePicker
from studio.pages.evaluate.view import View
from studio.state.context import AppContext
from studio.state.evaluations.per_class import Figure, describe_figure
from studio.state.evaluations.sample_figures import Floats, SampleFigure, find_worst, list_figures
from studio.state.evaluations.selection import Selection
from studio.state.formats import format_metric
from studio.widgets import STRETCH, ComboBox, button, hbox, label
from training.predictions import Evaluation, EvaluationRecord
from training.system.plain_table import Table

logger = logging.getLogger(__name__)

_BINS = 20
_EDGES = np.linspace(0.0, 1.0, _BINS + 1)


class FiguresView(View):
    """Measured in the background; the samples that have no such metric are in no bar."""

    key = "figures"
    heading = "Each sample"
    tab = "Each sample"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self.evaluation: Evaluation | None = None
        self.figures: list[SampleFigure] = []
        self._bins: NDArray[np.int64] = np.zeros(0, np.int64)  # of each sample
        self.figure = ComboBox()
        self.figure.setAccessibleName("Metric of each sample")
        self.figure.activated.connect(self.draw)
        self.chart = RangePicker()
        self.chart.chosen.connect(self._on_chosen)
        self.overall = label("", "caption", wrap=True)
        self.worst = button("Where it is worst", clicked=self.choose_worst)
        self.worst.setToolTip("The images in which no class has a lower IoU than this one")
        self.add_action(self.figure)
        self.add(self.overall, self.chart, hbox(label("Drag over bars to select.", "help"), STRETCH, self.worst))
        self.offer(self.chart, self._tabulate)

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return bool(list_figures(record))

    def show_evaluation(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.set_title("IoU of each image" if evaluation.record.target == "mask" else "Metric of each query")
        before = self.figure.currentData()
        self.figures = list_figures(evaluation.record)
        self.figure.clear()
        for each in self.figures:
            self.figure.addItem(each.title, each.key)
        self.figure.setCurrentIndex(max(self.figure.findData(before), 0))
        self._measure()

    def follow(self) -> None:
        mask = self.selection.mask_of_others(self.key)
        self.chart.set_part(None if mask is None or not len(self._bins) else count_bins(self._bins[mask]))
        self.chart.mark(self._find_bars(self.find_chosen()))

    @property
    def picked(self) -> SampleFigure:
        """The metric that is drawn."""
        return self.figures[max(self.figure.currentIndex(), 0)]

    def draw(self) -> None:
        """Show the metric that is picked now."""
        self._measure()
        self.follow()

    def choose_worst(self) -> None:
        """Choose the images in which the picked class is the worst."""
        figure = self.picked
        if figure.number is not None:
            words = f"“{figure.title}” is the worst class"
            self.choose(words, partial(find_worst, number=figure.number), (figure.key, None))

    def _measure(self) -> None:
        evaluation, figure = self.evaluation, self.picked
        self.worst.setVisible(figure.number is not None)
        self.overall.setText(self._describe_all(figure))
        self.overall.setVisible(bool(self.overall.text()))
        self._bins = np.zeros(0, np.int64)
        self.chart.set_bins("Measuring …", [], [], None)
        if evaluation is not None:
            self.context.background.submit(
                lambda: figure.find(evaluation),
                lambda values: self._take(evaluation, figure, values),
                lambda error: logger.warning("%s cannot be measured: %s", evaluation.folder, error),
            )

    def _take(self, evaluation: Evaluation, figure: SampleFigure, values: Floats) -> None:
        if evaluation is self.evaluation and figure.key == self.picked.key:
            self._bins = bin_values(values)
            self.chart.set_bins(figure.title, _EDGES.tolist(), count_bins(self._bins), None)
            self.follow()

    def _describe_all(self, figure: SampleFigure) -> str:
        """The class over all images, where each pixel counts, and its interval."""
        record = self.evaluation.record if self.evaluation is not None else None
        known = record.per_class.get("iou") or record.per_class.get("mean_iou") if record is not None else None
        if figure.number is None or not known:
            return ""
        return f"IoU over the pixels of all images: {describe_figure(figure.metric, Figure(*known[figure.number]))}"

    def _find_bars(self, place: object) -> Bars | None:
        return place[1] if isinstance(place, tuple) and place[0] == self.picked.key else None

    def _on_chosen(self, bars: Bars | None) -> None:
        if bars is None:
            self.selection.remove(self.key)
            return
        figure = self.picked
        ends = (format_metric(figure.metric, float(_EDGES[at])) for at in (bars[0], bars[1] + 1))
        find = partial(find_in_bars, figure=figure, bars=bars)
        title = figure.title if figure.number is None else f"IoU of “{figure.title}”"
        self.choose(f"{title}: {' to '.join(ends)}", find, (figure.key, bars))

    def _tabulate(self) -> Table:
        return {
            "from": _EDGES[:-1].tolist(),
            "to": _EDGES[1:].tolist(),
            "samples": count_bins(self._bins),
            "selected": count_bins(self._bins[self.selection.rows]) if len(self._bins) else [0] * _BINS,
        }


def find_in_bars(evaluation: Evaluation, *, figure: SampleFigure, bars: Bars) -> NDArray[np.bool_]:
    """The samples whose metric lies in these bars."""
    bins = bin_values(figure.find(evaluation))
    return (bins >= bars[0]) & (bins <= bars[1])


def bin_values(values: Floats) -> NDArray[np.int64]:
    """The bar of each value from 0 to 1; -1 for none."""
    places = np.minimum(np.nan_to_num(values * _BINS), _BINS - 1).astype(np.int64)
    return np.where(np.isnan(values), -1, places)


def count_bins(bins: NDArray[np.int64]) -> list[int]:
    """How many are in each bar."""
    return np.bincount(bins[bins >= 0], minlength=_BINS).tolist()
