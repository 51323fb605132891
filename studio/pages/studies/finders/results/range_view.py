"""The range test: losses over the rising rate, what they suggest, and the trials that verified it."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from studio.charts.log_chart import LogChart, LogLine, LogMark, Pane
from studio.pages.studies.finders.results.result_view import ResultView
from studio.state.formats import format_metric, metric_title
from studio.state.studies.readings import RangeFound
from training.metric_names import is_share

_HEIGHT, _WITH_TRIALS = 300, 430
_SEED, _MEDIAN, _SMOOTHED, _TRIALS = 7, 0, 0, 1  # colors


class RangeView(ResultView):
    """Loss of each seed, their median and that smoothed; below, the metric of each trial."""

    def __init__(self) -> None:
        super().__init__("Loss over the learning rate")
        self.chart = LogChart("Loss over the learning rate")
        self.add(self.chart)

    def show_found(self, found: RangeFound) -> None:
        lines = [
            LogLine("Each seed" if not at else "", found.rates[: len(losses)], losses, "faint", _SEED)
            for at, losses in enumerate(found.seeds.values())
        ]
        marks = []
        curve = found.curve
        if curve is not None and len(curve.rates):
            lines.append(LogLine("Median", curve.rates, curve.median, "thin", _MEDIAN))
            if len(curve.smoothed) == len(curve.rates):
                lines.append(LogLine("Smoothed", curve.rates, curve.smoothed, "bold", _SMOOTHED))
            if found.is_clear:
                ways = ((curve.valley, "valley"), (curve.steepest, "steepest"), (curve.minimum, "lowest ÷ 10"))
                marks = [LogMark(rate, f"{word} {rate:.2g}") for rate, word in ways if math.isfinite(rate)]
        if found.best is not None:
            marks.append(LogMark(found.best, f"proposed {found.best:.2g}", "accent"))
        panes = [Pane("Training loss", tuple(lines), share=1.6)]
        rates = found.rates
        low, high = float(rates[0]), float(rates[-1])
        if found.trials:
            title = metric_title(found.metric)
            x, y = (np.array(each, dtype=np.float64) for each in zip(*found.trials, strict=True))
            read = partial(format_metric, found.metric)
            panes.append(
                Pane(
                    f"{title[:1].upper()}{title[1:]} of the trials",
                    (LogLine("", x, y, "dots", _TRIALS),),
                    read,
                    _show_share if is_share(found.metric) else None,
                )
            )
            low, high = min(low, float(x.min())), max(high, float(x.max()))
        self.wait(
            "" if found.seeds or curve is not None else "The curves appear with the first steps of the first seed."
        )
        self.chart.setVisible(bool(found.seeds) or curve is not None)
        self.chart.setFixedHeight(_WITH_TRIALS if found.trials else _HEIGHT)
        self.chart.show_panes(panes, "Learning rate", (low, high), marks)


def _show_share(value: float) -> str:
    return f"{value:.0%}"
