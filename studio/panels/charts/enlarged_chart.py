"""A chart in the room of the whole window."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLayout, QWidget
from shiboken6 import isValid

from studio.charts.plots.curve_plot import CurvePlot
from studio.theme import SPACING
from studio.widgets import Card, vbox

_NO_LIMIT = (1 << 24) - 1  # Qt's QWIDGETSIZE_MAX


class EnlargedChart(QDialog):
    """The very chart, which goes on as it grows, and back to its place when this is closed. It is closed with its chart."""

    def __init__(self, plot: CurvePlot, title: str) -> None:
        window, home = plot.window(), _layout_of(plot)
        super().__init__(window)
        self.setWindowTitle(title)
        self._plot: CurvePlot | None = plot
        self._heights = plot.minimumHeight(), plot.maximumHeight()
        self._home = home
        self._place = QWidget(plot.parentWidget())
        self._place.setMinimumHeight(self._heights[0])
        self._place.setMaximumHeight(self._heights[1])
        self._place.setSizePolicy(plot.sizePolicy())
        home.replaceWidget(plot, self._place)
        self._place.show()
        plot.setMinimumHeight(0)
        plot.setMaximumHeight(_NO_LIMIT)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        card = Card()
        card.add((plot, 1))
        vbox((card, 1), buttons, parent=self, spacing=SPACING.m, margins=SPACING.l)
        plot.show()
        buttons.button(QDialogButtonBox.StandardButton.Close).setFocus()
        plot.destroyed.connect(self._on_chart_gone)
        self.finished.connect(self._give_back)
        self.setGeometry(window.geometry())

    @Slot()
    def _give_back(self) -> None:
        plot, self._plot = self._plot, None
        if plot is not None:
            plot.destroyed.disconnect(self._on_chart_gone)
        if plot is not None and isValid(self._home):  # else its card is gone, and it goes with this dialog
            self._home.replaceWidget(self._place, plot)
            plot.setMinimumHeight(self._heights[0])
            plot.setMaximumHeight(self._heights[1])
            plot.show()
        if isValid(self._place):
            self._place.deleteLater()
        self.deleteLater()

    @Slot()
    def _on_chart_gone(self) -> None:
        self._plot = None
        self.reject()


def _layout_of(widget: QWidget) -> QLayout:
    """That of its parent which holds it, by way of layouts within layouts or not."""
    parent = widget.parentWidget()
    layout = parent.layout() if parent is not None else None
    if layout is None:
        raise ValueError("a chart is enlarged out of a layout")
    return layout
