"""The names of compared runs with their colors, and what each is under the cursor."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from studio.charts.plots.legend import LegendEntry
from studio.theme import SPACING
from studio.widgets import STRETCH, label, vbox

_WIDTH = 264
_NAME = 148  # pixels
_HINT = "Point at a chart to read its values; click a curve to open its run at the nearest checkpoint."


class RunLegend(QScrollArea):
    """Signals: `pressed(key)` on a name, to hide its curves or to show them again."""

    pressed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[str, LegendEntry] = {}
        self._where = label(_HINT, "caption", wrap=True)
        self._rows = QWidget()
        self._column = vbox(self._where, STRETCH, parent=self._rows, spacing=SPACING.xs, margins=(0, 0, SPACING.s, 0))
        self.setWidget(self._rows)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFixedWidth(_WIDTH)
        self.setAccessibleName("Compared runs")

    def set_entries(self, entries: Mapping[str, tuple[str, int, bool]]) -> None:
        """Name, number of the color and whether it is a member of the mean above it, by the keys of the curves."""
        for entry in self._entries.values():
            self._column.removeWidget(entry)
            entry.hide()
            entry.deleteLater()
        self._entries.clear()
        for key, (name, color, is_member) in entries.items():
            room = _NAME - (SPACING.l if is_member else 0)
            entry = LegendEntry(self.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, room), color)
            entry.name = name
            entry.set_off(False)
            entry.pressed.connect(lambda key=key: self.pressed.emit(key))
            if is_member and (row := entry.layout()) is not None:
                row.setContentsMargins(SPACING.l, 0, 0, 0)
            self._column.insertWidget(self._column.count() - 1, entry, 0, Qt.AlignmentFlag.AlignLeft)
            self._entries[key] = entry

    def set_off(self, key: str, off: bool) -> None:
        """Its curves are hidden."""
        if key in self._entries:
            self._entries[key].set_off(off)

    def names(self) -> dict[str, str]:
        """What stands in it, by key."""
        return {key: entry.name for key, entry in self._entries.items()}

    def set_values(self, where: str, values: Mapping[str, str]) -> None:
        """What the curves are there; "" for nowhere."""
        self._where.setText(where or _HINT)
        for key, entry in self._entries.items():
            entry.set_value(values.get(key, ""))
