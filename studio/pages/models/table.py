"""The table of exports: sorted by any column, filtered by words."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QSortFilterProxyModel, Qt

from studio.state.exports import Exported
from studio.state.formats import format_ago
from studio.state.search import holds, split_query
from studio.widgets.tables import ALIGN_LEFT, ALIGN_RIGHT, NO_PARENT, AnyIndex
from training.errors import format_bytes
from training.metric_names import show_change
from training.verify.check import show_agreement

EXPORT_ROLE = Qt.ItemDataRole.UserRole
_SORT_ROLE = Qt.ItemDataRole.UserRole + 1
STATE_WORDS = {"": "checking …", "present": "present", "missing": "missing", "changed": "changed since"}
NONE = "–"


class _Column(NamedTuple):
    title: str
    text: Callable[[Exported], str]
    key: Callable[[Exported], Any]
    tip: str
    number: bool = True


def _show_metric(each: Exported) -> str:
    """The first metric of its proof before and after, with its name."""
    proof = each.note.proof
    if proof is None or proof.before is None or proof.after is None:
        return NONE
    return show_change(proof.metric, proof.before, proof.after)


def _show_latency(each: Exported) -> str:
    """Of a sample alone."""
    latency = each.note.proof.latency_ms if each.note.proof else None
    return NONE if latency is None else f"{latency:.3g} ms"


def _show_agreement(each: Exported) -> str:
    """The share of answers that are the model's."""
    agreement = each.note.proof.agreement if each.note.proof else None
    return NONE if agreement is None else show_agreement(agreement)


def _number(each: Exported, name: str) -> float:
    value = getattr(each.note.proof, name, None)
    return float("-inf") if value is None else float(value)


MEASURED = (
    _Column("Metric before → after", _show_metric, lambda each: _number(each, "after"), "Of the model, and of the file", False),
    _Column("Agreement", _show_agreement, lambda each: _number(each, "agreement"), "Answers that are the model's"),
    _Column("Size", lambda each: format_bytes(each.note.bytes), lambda each: each.note.bytes, "With its weights"),
    _Column("Latency", _show_latency, lambda each: _number(each, "latency_ms"), "Of a sample alone, when it was proven"),
)  # fmt: skip
"""What variants of a model differ in."""
COLUMNS = (
    _Column("Run", lambda each: each.run, lambda each: each.run.lower(), "The run it is of", False),
    _Column("Step", lambda each: f"{each.note.step:,}", lambda each: each.note.step, "The step of its checkpoint"),
    _Column("Format", lambda each: each.format, lambda each: each.format, "Format, and int8 where it is quantized", False),
    _Column("File", lambda each: STATE_WORDS[each.state], lambda each: each.state, "By its digest", False),
    _Column("Exported", lambda each: format_ago(each.note.time, time.time()), lambda each: each.note.time, "When", False),
    *MEASURED,
)  # fmt: skip
EXPORTED = next(at for at, column in enumerate(COLUMNS) if column.title == "Exported")


class _Rows(QAbstractTableModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.exports: tuple[Exported, ...] = ()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.exports)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        each, column = self.exports[index.row()], COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(each)
        if role == _SORT_ROLE:
            return column.key(each)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if column.number else ALIGN_LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            return each.note.path
        return each if role == EXPORT_ROLE else None

    def headerData(self, section: int, way: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if way == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[section].title
        if way == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.ToolTipRole:
            return COLUMNS[section].tip
        if way == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if COLUMNS[section].number else ALIGN_LEFT
        return None


class ExportTable(QSortFilterProxyModel):
    """Rows in the order that was asked for, and only those in which all words occur."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._rows = _Rows(self)
        self._words: list[str] = []
        self.setSourceModel(self._rows)
        self.setSortRole(_SORT_ROLE)

    def show_exports(self, exports: Sequence[Exported]) -> None:
        """Have these for rows."""
        self._rows.beginResetModel()
        self._rows.exports = tuple(exports)
        self._rows.endResetModel()

    def set_words(self, text: str) -> None:
        """Leave out rows without these words."""
        self._words = split_query(text)
        self.invalidate()

    def filterAcceptsRow(self, row: int, parent: QModelIndex | Any) -> bool:
        each = self._rows.exports[row]
        return holds(" ".join((*(column.text(each) for column in COLUMNS), each.note.path)), self._words)
