"""The batch size: samples per second and memory over it, the knee and the noise scale."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from studio.charts.log_chart import LogChart, LogLine, LogMark, Pane
from studio.pages.studies.finders.results.result_view import ResultView
from studio.state.formats import format_rate
from studio.state.studies.readings import BatchFound
from studio.widgets import label, make_breakable
from training.errors import format_bytes

_HEIGHT, _ALONE = 400, 260


class BatchView(ResultView):
    """A pane each, over the same sizes."""

    def __init__(self) -> None:
        super().__init__("Speed and memory over the batch size")
        self.chart = LogChart("Speed and memory over the batch size")
        self.said = label("", "help", wrap=True)
        self.add(self.chart, self.said)

    def show_found(self, found: BatchFound) -> None:
        panes = []
        if found.rates:
            line = _make_line(found.rates, 0)
            panes.append(Pane("Samples per second", (line,), lambda value: format_rate(value), from_zero=True))
        if found.peaks:
            level = (float(found.limit), f"free: {format_bytes(found.limit)}") if found.limit else None
            line = _make_line(found.peaks, 2)
            panes.append(Pane("Memory at the peak", (line,), _show_bytes, _show_bytes, level, True))
        self.wait("" if panes else "The first measurement is under way.")
        self.chart.setVisible(bool(panes))
        sizes = sorted({*found.rates, *found.peaks})
        if panes:
            marks = [LogMark(found.knee, f"knee {found.knee:,}", "accent")] if found.knee else []
            if found.scale and sizes[0] <= found.scale <= sizes[-1]:
                marks.append(LogMark(found.scale, f"noise scale {found.scale:,.0f}"))
            self.chart.setFixedHeight(_HEIGHT if len(panes) > 1 else _ALONE)
            self.chart.show_panes(panes, "Batch size", (sizes[0], sizes[-1]), marks, sizes)
        said = [f"Does not fit: {', '.join(f'{size:,}' for size in found.too_large)}."] if found.too_large else []
        if found.scale and not (sizes and sizes[0] <= found.scale <= sizes[-1]):
            said.append(f"The gradient noise scale, {found.scale:,.0f} samples, lies outside of what is drawn.")
        self.said.setText(make_breakable(" ".join(said)))
        self.said.setVisible(bool(said))


def _make_line(values: Mapping[int, float], color: int) -> LogLine:
    x, y = (np.array(each, dtype=np.float64) for each in zip(*sorted(values.items()), strict=True))
    return LogLine("", x, y, "dots", color)


def _show_bytes(value: float) -> str:
    return format_bytes(round(value))
