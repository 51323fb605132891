"""Results as an image: for each job a bar for each contestant, as long as it took in terms of the floor."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.compare.results import contestants, ratio
from tests.benchmarks.compare.table import Outcome

OURS, FLOOR, TEXTBOOK, PEER, INK = "#2563eb", "#9ca3af", "#b45309", "#64748b", "#111827"
WIDTH, BAR_HEIGHT, HEAD = 1280, 26, 88
COLUMNS = 2


def draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """Write a PNG. Needs no display."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    import pyqtgraph as pg
    from pyqtgraph.exporters import ImageExporter

    application = pg.mkQApp()
    pg.setConfigOptions(background="w", foreground=INK, antialias=True)
    board = pg.GraphicsLayoutWidget()
    rows = [outcomes[start : start + COLUMNS] for start in range(0, len(outcomes), COLUMNS)]
    heights = [HEAD + BAR_HEIGHT * max(len(contestants(rounds)) for _, rounds, _ in row) for row in rows]
    board.resize(WIDTH, sum(heights))
    for number, row in enumerate(rows):
        board.ci.layout.setRowPreferredHeight(number, heights[number])
        for column, outcome in enumerate(row):
            _plot(board.addPlot(row=number, col=column), outcome)
    board.show()
    application.processEvents()
    ImageExporter(board.scene()).export(str(path))
    board.close()


def _plot(plot: object, outcome: Outcome) -> None:
    import pyqtgraph as pg

    job, rounds, _ = outcome
    names = [name for name in reversed(contestants(rounds)) if ratio(rounds, name, job.floor) is not None]
    lengths = [found.median for name in names if (found := ratio(rounds, name, job.floor)) is not None]
    plot.setTitle(f"{job.title}", size="10pt", color=INK)  # type: ignore[attr-defined]
    brushes = [pg.mkBrush(_color(name)) for name in names]
    bars = pg.BarGraphItem(
        x0=0, y=list(range(len(names))), width=lengths, height=0.7, brushes=brushes, pen=pg.mkPen(None)
    )
    plot.addItem(bars)  # type: ignore[attr-defined]
    for row, (name, length) in enumerate(zip(names, lengths, strict=True)):
        label = pg.TextItem(f"{length:.2f}", color=_color(name) if name == "ours" else INK, anchor=(0, 0.5))
        label.setPos(length, row)
        plot.addItem(label)  # type: ignore[attr-defined]
    plot.addItem(pg.InfiniteLine(1.0, pen=pg.mkPen(INK, style=pg.QtCore.Qt.PenStyle.DashLine)))  # type: ignore[attr-defined]
    plot.setXRange(0, 1.12 * max(lengths, default=1.0), padding=0)  # type: ignore[attr-defined]
    plot.setYRange(-0.6, len(names) - 0.4, padding=0)  # type: ignore[attr-defined]
    left = plot.getAxis("left")  # type: ignore[attr-defined]
    left.setTicks([list(enumerate(names))])
    left.setWidth(110)
    plot.getAxis("bottom").setLabel("times the floor")  # type: ignore[attr-defined]
    plot.setMenuEnabled(False)  # type: ignore[attr-defined]
    plot.hideButtons()  # type: ignore[attr-defined]


def _color(name: str) -> str:
    if name == "ours":
        return OURS
    return FLOOR if name.startswith("floor") else TEXTBOOK if name == "textbook" else PEER
