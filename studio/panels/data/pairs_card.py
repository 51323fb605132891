"""Which mask was paired with which image: those of the page that is shown, and how many there are in all."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem

from studio.panels.data.sample_pages import SamplePages
from studio.widgets import Card
from training.protocol.answers import SamplePage

_ROWS = 4  # that are seen at once


class PairsCard(Card):
    """Follows ``pages`` and is there only while its images have masks in files."""

    def __init__(self, pages: SamplePages) -> None:
        super().__init__("Images and masks", "layers", collapsible=True)
        self._pages = pages
        self._page: SamplePage | None = None
        self.list = file_list("Images of this page and their masks")
        self.add(self.list)
        pages.changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        page = self._pages.page
        if page is not None and page is self._page:
            return
        self._page = page
        pairs = [(each.name, each.mask_name) for each in page.samples if each.mask_name] if page else []
        self.setVisible(bool(pairs))
        self.list.clear()
        for image, mask in pairs:
            row = QListWidgetItem(f"{image}\n{mask}")
            row.setToolTip(f"{image}, mask {mask}")
            self.list.addItem(row)
        self.list.setFixedHeight(min(max(len(pairs), 1), _ROWS) * max(self.list.sizeHintForRow(0), 20) + 8)
        told = next((note for note in self._pages.report.notes if "paired with a mask" in note), "")
        self.set_subtitle(f"{told}. Those of this page:" if told else "")


def file_list(name: str) -> QListWidget:
    """Rows of words about files, as narrow as there is room."""
    words = QListWidget()
    words.setProperty("flat", True)
    words.setAccessibleName(name)
    words.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    words.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    words.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
    return words
