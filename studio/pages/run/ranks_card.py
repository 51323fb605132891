"""The processes that share the run shown: what each computes on, what it holds, and for whom the others wait."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, Qt, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHeaderView

from studio.state.context import AppContext
from studio.state.formats import format_rate
from studio.widgets import ALIGN_LEFT, ALIGN_RIGHT, NO_PARENT, AnyIndex, Card, ChoiceTable, fit_rows, label
from training.runs.rank_looks import RankLook, describe_slowest, find_slowest, look_at_ranks

_ROW_HEIGHT = 28
_MOST_ROWS = 16
_EVERY = 1.0  # seconds between two looks
_TITLES = ("Rank", "Device", "Memory", "Samples/s", "Waits for data", "Waits for others")
_TIPS = {
    3: "Of its own share of each batch",
    4: "Share of the time until its samples are there",
    5: "Share of the time until all have made their part of a step: the slowest waits least",
}


class RanksTable(QAbstractTableModel):
    """A row for each process."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: Sequence[RankLook] = ()
        self._slowest: RankLook | None = None

    def show_looks(self, looks: Sequence[RankLook]) -> None:
        """Replace the rows."""
        if len(looks) != len(self.looks):
            self.beginResetModel()
            self.looks = looks
            self.endResetModel()
        self.looks, self._slowest = looks, find_slowest(looks)
        if looks:
            self.dataChanged.emit(self.index(0, 0), self.index(len(looks) - 1, len(_TITLES) - 1))

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.looks)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(_TITLES)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return _TITLES[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return _TIPS.get(section)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if section > 1 else ALIGN_LEFT
        return None

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        look = self.looks[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._describe(look, index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"Process {look.record.process} on {look.record.host}"
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if index.column() > 1 else ALIGN_LEFT
        return None

    def _describe(self, look: RankLook, column: int) -> str:
        slowest = " (slowest)" if look is self._slowest else ""
        texts = (
            f"{look.record.rank}{slowest}",
            look.record.device,
            look.memory,
            format_rate(look.samples_per_second),
            _share(look.wait_share),
            _share(look.ranks_wait_share),
        )
        return texts[column]


class RanksCard(Card):
    """Follows ``context.shown``; hidden for a run of one process."""

    def __init__(self, context: AppContext) -> None:
        super().__init__("Processes", "layers")
        self._shown = context.shown
        self._due = 0.0
        self.table = RanksTable()
        self.view = ChoiceTable("Processes of the run", _ROW_HEIGHT)
        self.view.setModel(self.table)
        header = self.view.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self.words = label("", "help", wrap=True)
        self.add(self.view, self.words)
        self.hide()
        self._shown.attached.connect(self.refresh)
        self._shown.state_changed.connect(self.refresh)
        self._shown.looked.connect(self._on_looked)

    @Slot()
    def refresh(self) -> None:
        """Look at the run's processes now."""
        self._due = time.monotonic() + _EVERY
        folder, history = self._shown.run.folder, self._shown.run.history
        attempts = history.attempts if history is not None else []
        looks = look_at_ranks(folder.path, attempts[-1].time) if folder is not None and attempts else ()
        self.table.show_looks(looks)
        self.setVisible(bool(looks))
        if looks:
            fit_rows(self.view, _MOST_ROWS)
            self.words.setText(describe_slowest(looks))

    @Slot()
    def _on_looked(self) -> None:
        parent = self.parentWidget()
        if parent is not None and parent.isVisible() and time.monotonic() >= self._due:
            self.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        fit_rows(self.view, _MOST_ROWS)


def _share(value: float) -> str:
    return f"{value:.0%}" if math.isfinite(value) else "–"
