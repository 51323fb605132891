"""Each part of a combined loss as a curve."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Slot

from studio.charts.plots.curve_plot import CurvePlot
from studio.panels.charts.chart_menu import ChartMenu
from studio.state.context import AppContext
from studio.state.runs.column_follower import ColumnFollower
from studio.widgets import Card, format_number
from training.runs.folder import RunFolder
from training.runs.records.columns import Columns
from training.runs.records.series import Rows

_HEIGHT = 240


class PartsCard(Card):
    """Shows ``parts.bin`` of a run; hidden where its loss has no parts."""

    def __init__(self, context: AppContext) -> None:
        super().__init__("Parts of the loss", "chart")
        self.plot: CurvePlot | None = None
        self._names: tuple[str, ...] = ()
        self._context = context
        self._folder: RunFolder | None = None
        self._growing = True
        self._hidden: set[str] = set()  # curves, in whatever run has them
        self.follower = ColumnFollower(context.background, self)
        self.follower.began.connect(self._on_began)
        self.follower.rows_arrived.connect(self._on_rows)
        self.hide()

    def set_run(self, folder: RunFolder | None, growing: bool) -> None:
        """Look at another run, or none, or again at the same; ``growing``: more may come."""
        self._folder, self._growing = folder, growing
        if self.plot is not None:
            self.plot.set_growing(growing)
        self.follower.follow(folder.parts_file if folder else None)

    @Slot(object)
    def _on_began(self, columns: Columns | None) -> None:
        if self.plot is not None:
            self._hidden = (self._hidden - set(self._names)) | self.plot.hidden_curves()
            self.plot.hide()
            self.plot.deleteLater()
        self.plot, self._names = None, columns.names if columns else ()
        self.setVisible(columns is not None)
        if columns is None:
            return
        self.plot = CurvePlot("Training loss")
        self.plot.setFixedHeight(_HEIGHT)
        self.plot.set_growing(self._growing)
        self.plot.fit_wanted.connect(self.plot.fit)
        ChartMenu(self.plot, self._context, lambda: self._folder)
        for name, share in zip(columns.names, columns.shares, strict=True):
            words = name.replace("_", " ")
            self.plot.add_curve(name, f"{words} × {format_number(float(f'{share:.3g}'))}", is_noisy=True)
            self.plot.hide_curve(name, name in self._hidden)
        self.add(self.plot)
        self.set_subtitle(
            "Means over each step before they are weighed; times the factors beside their names they add up to the loss."
        )

    @Slot(object)
    def _on_rows(self, rows: Rows) -> None:
        if self.plot is None:
            return
        steps = rows["step"].astype(np.float64)
        for name, values in zip(self._names, rows["values"].T, strict=True):
            self.plot.append(name, steps, values.astype(np.float64))
