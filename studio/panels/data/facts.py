"""Shape and size of the data in words, and the files that cannot be used."""

from __future__ import annotations

from PySide6.QtWidgets import QListWidgetItem

from studio.panels.data.engine_query import EngineQuery
from studio.panels.data.pairs_card import file_list
from studio.widgets import Card, StatusPill
from training.errors import format_bytes, pluralize
from training.protocol.answers import DatasetReport

_PART_TITLES = {"train": "for training", "validation": "for validation", "test": "for testing"}


class SkippedCard(Card):
    """Follows ``question``; is there only while files were skipped."""

    def __init__(self, question: EngineQuery[DatasetReport]) -> None:
        super().__init__("Skipped files", "warning", collapsible=True)
        self._question = question
        self._report: DatasetReport | None = None
        self._count = StatusPill("", "warning")
        self.add_action(self._count)
        self.list = file_list("Skipped files and why")
        self.add(self.list)
        question.changed.connect(self._update)
        self.hide()
        self._update()

    def _update(self) -> None:
        report = self._question.answer
        if report is None or report is self._report:
            return
        self._report = report
        skipped, total = report.skipped, report.skipped_total
        self.setVisible(total > 0)
        self._count.set_status(pluralize(total, "file"), "warning")
        self.list.clear()
        for item in skipped:
            row = QListWidgetItem(f"{item.path}\n{item.reason}")
            row.setToolTip(f"{item.path}: {item.reason}")
            self.list.addItem(row)
        if total > len(skipped):
            self.list.addItem(f"and {total - len(skipped):,} more")
        height = self.list.sizeHintForRow(0) if total else 0
        self.list.setFixedHeight(min(max(len(skipped), 1), 4) * max(height, 20) + 8)


def size_sentence(report: DatasetReport) -> str:
    """How many samples each part has."""
    parts = [f"{count:,} {_PART_TITLES.get(part, part)}" for part, count in report.samples.items()]
    return ", ".join(parts) + "."


def fact_rows(report: DatasetReport) -> list[tuple[str, str]]:
    """Shape and size."""
    shape = report.shape
    if len(shape) == 3:
        color = {1: "grayscale", 3: "RGB"}.get(shape[0], f"{shape[0]} channels")
        rows = [("Input shape", f"{shape[2]} × {shape[1]} pixels, {color}")]
    elif len(shape) == 2:
        rows = [("Query shape", f"up to {shape[0]} items of {shape[1]} number{'s' if shape[1] != 1 else ''}")]
    elif report.layout == "tokens":
        rows = [("Input shape", f"{shape[0]:,} tokens and the one that follows")]
        rows += [(f"Tokens {_PART_TITLES[part]}", f"{count:,}") for part, count in report.token_counts.items()]
    else:
        rows = [("Input shape", f"{shape[0]} number{'s' if shape[0] != 1 else ''}")]
    rows.append(("Samples", size_sentence(report).rstrip(".")))
    if report.bytes:
        rows.append(("Size in memory", format_bytes(report.bytes)))
    return rows
