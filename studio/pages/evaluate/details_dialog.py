"""The chosen samples that are no images, one at a time with all that is known of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage, QKeyEvent
from PySide6.QtWidgets import QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from studio.pages.evaluate.listed_sample import ListedSample
from studio.state.evaluations.sample_details import Detail
from studio.state.evaluations.sample_table import SampleTable
from studio.widgets import Thumbnail, dress_table

_ROW_HEIGHT = 26


class SampleDetails(QTableWidget):
    """What is known of a sample, a line for each; long texts are wrapped."""

    def __init__(self) -> None:
        super().__init__(0, 2)
        dress_table(self, "All values of the sample", _ROW_HEIGHT)
        self.setWordWrap(True)
        self.setHorizontalHeaderLabels(["Column", "Value"])
        self.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QTableWidget.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header = self.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)

    def sizeHint(self) -> QSize:
        return QSize(560, 480)

    def show_details(self, details: Sequence[Detail]) -> None:
        """Show those of another sample; where it was scrolled to stays."""
        at = self.verticalScrollBar().value()
        self.setRowCount(len(details))
        for row, words in enumerate(details):
            for column, text in enumerate(words):
                item = QTableWidgetItem(text)
                self.setItem(row, column, item)
        self.verticalScrollBar().setValue(at)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            event.ignore()  # the dialog goes to another sample
        else:
            super().keyPressEvent(event)


class DetailsDialog(ListedSample):
    """``list_details`` gives what is known of a row of the evaluation."""

    def __init__(
        self,
        table: SampleTable,
        list_details: Callable[[int], Sequence[Detail]],
        place: int,
        parent: QWidget | None = None,
    ) -> None:
        details = SampleDetails()
        super().__init__(table, place, parent, details)
        self.details = details
        self.detail.hide()
        self._list_details = list_details
        self._show()

    def _show(self) -> None:
        name = self._table.columns[0].describe(self.row)
        self.show_sample(Thumbnail(QImage(), name), self.position)
        self.details.show_details(self._list_details(self.row))
