"""The numbers of a chart as a table, for those who read rather than look."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QObject, Qt, QTimer, Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QHeaderView, QTableView

from studio.charts.plots.curve import Line
from studio.charts.plots.curve_plot import CurvePlot
from studio.theme import SPACING
from studio.widgets import ALIGN_RIGHT, NO_PARENT, AnyIndex, Card, dress_table, label, vbox

_ROW = 28
_SIZE = 460, 520
_PACE = 1_000  # milliseconds: a table that changes more often cannot be read
_WIDEST = 220


class ChartValues(QAbstractTableModel):
    """A row for each position in view at which any curve has a sample, the newest first; a column for each curve. A cell is made into
    text when it is looked at: a long run has a million."""

    def __init__(self, plot: CurvePlot, parent: QObject) -> None:
        super().__init__(parent)
        self._plot = plot
        self._samples: dict[str, Line] = {}
        self._at: NDArray[np.float64] = np.empty(0)

    def refresh(self) -> None:
        """Take what the chart shows now; rows that stay keep their place under the person's hand."""
        samples = self._plot.shown_samples()
        at = np.unique(np.concatenate([np.empty(0), *(xs for xs, _ in samples.values())]))[::-1]
        more = len(at) - len(self._at)
        if list(samples) == list(self._samples) and more >= 0 and np.array_equal(at[more:], self._at):
            if more:
                self.beginInsertRows(NO_PARENT, 0, more - 1)
            self._samples, self._at = samples, at
            if more:
                self.endInsertRows()
            if len(at):  # a validation may come later than the step that it is of
                self.dataChanged.emit(self.index(0, 0), self.index(len(at) - 1, len(samples)))
            return
        self.beginResetModel()
        self._samples, self._at = samples, at
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._at)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else 1 + len(self._samples)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return ["Position", *self._samples][section]
        return ALIGN_RIGHT if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        x = float(self._at[index.row()])
        if index.column() == 0:
            return self._plot.x_reading(x)
        xs, ys = list(self._samples.values())[index.column() - 1]
        found = int(np.searchsorted(xs, x, "right")) - 1
        return self._plot.read(float(ys[found])) if found >= 0 and xs[found] == x else ""


class ValuesDialog(QDialog):
    """Follows the chart as it grows and is zoomed, and is closed with it."""

    def __init__(self, plot: CurvePlot, title: str) -> None:
        super().__init__(plot.window())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(f"Values: {title}")
        self.resize(*_SIZE)
        self.values = ChartValues(plot, self)
        self.table = QTableView()
        self.table.setModel(self.values)
        dress_table(self.table, f"Values of {title}, the newest first", _ROW)
        self.table.verticalHeader().hide()
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setMaximumSectionSize(_WIDEST)
        self._pace = QTimer(self, interval=_PACE, singleShot=True)
        self._pace.timeout.connect(self.values.refresh)
        plot.redrawn.connect(self._on_redrawn)
        plot.destroyed.connect(self._on_chart_gone)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.close)
        note = label(
            "What the chart shows now, unsmoothed, the newest first. Zoom the chart to see fewer.", "help", wrap=True
        )
        card = Card()
        card.add(note, (self.table, 1))
        vbox((card, 1), buttons, parent=self, spacing=SPACING.m, margins=SPACING.l)
        self.values.refresh()
        self.table.setFocus()

    @Slot()
    def _on_chart_gone(self) -> None:
        self._pace.stop()
        self.close()

    @Slot()
    def _on_redrawn(self) -> None:
        if not self._pace.isActive():
            self._pace.start()
