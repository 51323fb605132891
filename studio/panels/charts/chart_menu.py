"""What a right click on a chart offers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from PySide6.QtCore import QBuffer, QIODevice, QObject, QPoint, QSize, Slot
from PySide6.QtGui import QGuiApplication, QPixmap
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QMenu, QWidget

from studio.actions.curves import TITLE, ask_and_save_curves
from studio.actions.saving import ask_for_place, save_file
from studio.charts.plots.curve import Line
from studio.charts.plots.curve_plot import CurvePlot
from studio.panels.charts.enlarged_chart import EnlargedChart
from studio.panels.charts.values_dialog import ValuesDialog
from studio.state.context import AppContext
from studio.theme import icon
from training.runs.folder import RunFolder
from training.system.atomic import write_bytes
from training.system.plain_table import Cell, Table, save_table


class ChartMenu(QObject):
    """The menu of one chart. ``find_run`` gives the run that it shows; of a chart of no run ``name`` says what its files are called,
    without a suffix, and ``title`` what it is."""

    def __init__(
        self,
        plot: CurvePlot,
        context: AppContext,
        find_run: Callable[[], RunFolder | None] = lambda: None,
        name: Callable[[], str] = lambda: "run",
        title: str = "",
    ) -> None:
        super().__init__(plot)
        self._plot, self._context, self._title = plot, context, title
        self._find_run, self._name = find_run, name
        plot.menu_wanted.connect(self._open)

    @Slot(QPoint)
    def _open(self, place: QPoint) -> None:
        menu = self.make()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(place)

    def make(self) -> QMenu:
        """The menu as it is now."""
        plot, menu = self._plot, QMenu(self._plot)
        has_samples = bool(plot.shown_samples())
        is_large = isinstance(plot.window(), EnlargedChart)
        menu.addAction(icon("fit", "text"), "Fit", plot.fit_wanted.emit)
        enlarge = menu.addAction("Enlarge", self.enlarge)
        enlarge.setEnabled(not is_large)
        menu.addAction("Values as a table", self.show_values).setEnabled(has_samples)
        menu.addSeparator()
        for words, handle in (
            ("Copy image", self.copy_image),
            ("Save as PNG …", lambda: self.save_image("png")),
            ("Save as SVG …", lambda: self.save_image("svg")),
            ("Save as CSV …", lambda: self.save_table("csv")),
            ("Save as Parquet …", lambda: self.save_table("parquet")),
        ):
            menu.addAction(words, handle).setEnabled(has_samples)
        if (run := self._find_run()) is not None:
            menu.addSeparator()
            menu.addAction(TITLE, lambda: ask_and_save_curves(self._context, plot, run))
        return menu

    def enlarge(self) -> None:
        """Show the chart in a window of its own as large as the window."""
        EnlargedChart(self._plot, self._plot.title or self._title).open()

    def show_values(self) -> None:
        """Show the numbers in view beside the chart."""
        ValuesDialog(self._plot, self._plot.title or self._title).show()

    def copy_image(self) -> None:
        """Put it on the clipboard as it is drawn."""
        QGuiApplication.clipboard().setPixmap(self._plot.picture())
        self._context.notifier.notify("The chart is on the clipboard, as an image.", "success", subject="chart copied")

    def save_image(self, suffix: str = "png") -> None:
        """Ask where to, and write it as it is drawn, as "png" or "svg"."""
        content = encode_png(self._plot.picture()) if suffix == "png" else encode_svg(self._plot)
        if path := self._ask_for_place("Save the chart as an image", f"{suffix.upper()} image", suffix):
            save_file(self._context, lambda: write_bytes(path, content), path, "The chart was not saved")

    def save_table(self, suffix: str) -> None:
        """Ask where to, and write the numbers of what is shown, as "csv" or "parquet"."""
        samples = self._plot.shown_samples()
        if path := self._ask_for_place("Save the numbers in view", "Table", suffix):
            save = partial(save_table, path, [tabulate(samples)])
            save_file(self._context, save, path, "The numbers were not saved")

    def _ask_for_place(self, title: str, kind: str, suffix: str) -> Path | None:
        run = self._find_run()
        name = (
            f"{run.id if run else self._name()}-{(self._plot.title or self._title).lower().replace(' ', '-')}.{suffix}"
        )
        return ask_for_place(self._plot, title, kind, name, suffix)


def encode_png(drawn: QPixmap) -> bytes:
    """A pixmap as the bytes of a file."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    drawn.save(buffer, "PNG")
    return bytes(buffer.data().data())


def encode_svg(widget: QWidget) -> bytes:
    """What a widget draws as lines and letters that stay sharp at every size."""
    buffer, generator = QBuffer(), QSvgGenerator()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    generator.setOutputDevice(buffer)
    generator.setSize(QSize(widget.width(), widget.height()))
    generator.setViewBox(widget.rect())
    widget.render(generator)
    return bytes(buffer.data().data())


def tabulate(samples: Mapping[str, Line]) -> Table:
    """A row for each step at which any curve has a sample, a column for each curve; where it has none, the cell is empty. Of several
    samples at one step it is the last."""
    steps = np.unique(np.concatenate([np.empty(0), *(xs for xs, _ in samples.values())]))
    columns: dict[str, list[Cell]] = {"step": [int(step) if step == int(step) else float(step) for step in steps]}
    for name, (xs, ys) in samples.items():
        found = np.searchsorted(xs, steps, "right") - 1
        has = (found >= 0) & (xs[found] == steps)
        values = np.where(has, ys[found], math.nan).tolist()
        columns[name] = [value if there else None for value, there in zip(values, has.tolist(), strict=True)]
    return columns
