"""Which mask was paired with which image: the first ones, and how many there are in all."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem

from studio.panels.data.engine_query import EngineQuery
from studio.widgets import Card
from training.protocol.answers import DatasetReport

_ROWS = 4  # that are seen at once


class PairsCard(Card):
    """Follows ``question`` and is there only while its images have masks in files."""

    def __init__(self, question: EngineQuery[DatasetReport]) -> None:
        super().__init__("Images and masks", "layers", collapsible=True)
        self._question = question
        self._report: DatasetReport | None = None
        self.list = file_list("The first images and their masks")
        self.add(self.list)
        question.changed.connect(self._update)
        self.hide()
        self._update()

    def _update(self) -> None:
        report = self._question.answer
        if report is None or report is self._report:
            return
        self._report = report
        page = report.first_page
        pairs = [(each.name, each.mask_name) for each in page.samples if each.mask_name] if page else []
        self.setVisible(bool(pairs))
        self.list.clear()
        for image, mask in pairs:
            row = QListWidgetItem(f"{image}\n{mask}")
            row.setToolTip(f"{image}, mask {mask}")
            self.list.addItem(row)
        self.list.setFixedHeight(min(max(len(pairs), 1), _ROWS) * max(self.list.sizeHintForRow(0), 20) + 8)
        told = next((note for note in report.notes if "paired with a mask" in note), "")
        self.set_subtitle(f"{told}. The first of them:" if told else "")


def file_list(name: str) -> QListWidget:
    """Rows of words about files, as narrow as there is room."""
    words = QListWidget()
    words.setProperty("flat", True)
    words.setAccessibleName(name)
    words.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    words.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    words.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
    return words
