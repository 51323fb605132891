"""The figures as a table and as images."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import pyqtgraph as pg
from pyqtgraph.exporters import ImageExporter
from PySide6.QtWidgets import QApplication

from tests.benchmarks.scale.probe import Measurement
from tests.benchmarks.scale.steps import Course

COLORS = ("#2563eb", "#d97706", "#7c3aed", "#059669", "#dc2626", "#0891b2", "#be185d", "#4d7c0f", "#475569", "#a16207")
LEAST = {"ms": 1.0, "MB": 1.0, "kB": 1.0}
"""Below that a growth says nothing."""


def growth(taken: Sequence[Measurement]) -> float:
    """How many times more at the largest count than at the one before; what is too little to tell counts as that little."""
    before, last = (max(item.value, LEAST[item.unit]) for item in taken[-2:])
    return last / before


def grouped(figures: Sequence[Measurement]) -> list[list[Measurement]]:
    """The figures of one name together, by count, in the order the names came."""
    names = list(dict.fromkeys((item.subject, item.name) for item in figures))
    ordered = sorted(figures, key=lambda item: (names.index((item.subject, item.name)), item.count))
    return [list(group) for _, group in groupby(ordered, key=lambda item: (item.subject, item.name))]


def table(figures: Sequence[Measurement]) -> str:
    """Markdown: a row for each figure, a column for each count, and the growth from the last but one to the last."""
    lines = []
    for subject, groups in groupby(grouped(figures), key=lambda group: group[0].subject):
        rows = list(groups)
        counts = sorted({item.count for row in rows for item in row})
        lines += ["", f"| {subject} | {' | '.join(f'{count:,}' for count in counts)} | growth | may be |"]
        lines.append(f"|---{'|---:' * (len(counts) + 1)}|---|")
        for row in rows:
            values = {item.count: f"{item.value:,.4g} {item.unit}" for item in row}
            cells = " | ".join(values.get(count, "") for count in counts)
            grown = f"{growth(row):.2f}" if len(row) > 1 else ""
            lines.append(f"| {row[0].name} | {cells} | {grown} | {row[0].grows} |")
    return "\n".join(lines) + "\n"


def draw_course(course: Course, path: Path) -> None:
    """Time, processor time and memory over the steps of one run."""
    layout = _layout()
    for at, (title, values) in enumerate(
        (
            ("Time of a step, ms (median of ten epochs)", _calm(course.milliseconds)),
            ("Processor time of a step, ms (median of ten epochs)", _calm(course.processor)),
            ("Resident memory of the engine, MB", course.memory),
        )
    ):
        plot = layout.addPlot(row=at, col=0, title=title)
        plot.plot(course.steps, values, pen=pg.mkPen(COLORS[at], width=2))
        plot.setYRange(0, 1.15 * max(values))
        plot.showGrid(y=True, alpha=0.3)
        plot.getAxis("bottom").enableAutoSIPrefix(False)
    layout.getItem(2, 0).setLabel("bottom", "step")
    _save(layout, path, 900, 800)


def draw_growth(figures: Sequence[Measurement], path: Path) -> None:
    """Every time of one subject over its count, on logarithmic axes; a gray line is what grows with the count."""
    rows = [row for row in grouped(figures) if row[0].unit == "ms" and len(row) > 1]
    layout = _layout()
    plot = layout.addPlot(title=f"Milliseconds over the number of {rows[0][0].subject}")
    plot.setLogMode(True, True)
    plot.showGrid(y=True, alpha=0.3)
    legend = pg.LegendItem(labelTextColor="k", labelTextSize="9pt")
    layout.addItem(legend, row=0, col=1)
    layout.ci.layout.setColumnFixedWidth(1, 300)
    counts = np.array([item.count for item in rows[0]], dtype=float)
    plot.getAxis("bottom").setTicks([[(float(np.log10(count)), f"{count:,.0f}") for count in counts]])
    plot.setXRange(float(np.log10(counts[0])), float(np.log10(counts[-1])), padding=0.06)
    plot.plot(counts, counts / counts[-1] * 1000, pen=pg.mkPen("#cccccc", width=6))
    for at, row in enumerate(rows):
        dashed = pg.QtCore.Qt.PenStyle.DashLine if row[0].grows == "constant" else pg.QtCore.Qt.PenStyle.SolidLine
        pen = pg.mkPen(COLORS[at % len(COLORS)], width=2, style=dashed)
        xs, ys = [item.count for item in row], [max(item.value, 0.001) for item in row]
        symbol = "osd"[at // len(COLORS)]
        line = plot.plot(xs, ys, pen=pen, symbol=symbol, symbolSize=7, symbolBrush=COLORS[at % len(COLORS)])
        legend.addItem(line, row[0].name)
    _save(layout, path, 1100, 560)


def _calm(values: Sequence[float]) -> list[float]:
    padded = np.pad(np.asarray(values), (9, 0), mode="edge")
    calm: list[float] = np.median(np.lib.stride_tricks.sliding_window_view(padded, 10), axis=1).tolist()
    return calm


def _layout() -> pg.GraphicsLayoutWidget:
    if QApplication.instance() is None:
        pg.mkQApp()
    pg.setConfigOptions(background="w", foreground="k", antialias=True)
    return pg.GraphicsLayoutWidget()


def _save(layout: pg.GraphicsLayoutWidget, path: Path, width: int, height: int) -> None:
    layout.resize(width, height)
    layout.show()
    QApplication.processEvents()
    ImageExporter(layout.scene()).export(str(path))
    layout.close()
