"""The chosen samples, one at a time and large."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from studio.panels.samples.enlarged_sample import EnlargedSample
from studio.panels.samples.sample_images import SampleImages
from studio.state.evaluations.sample_table import SampleTable
from studio.widgets import Thumbnail


class SampleDialog(EnlargedSample):
    """Goes through the samples as they are listed, from the one at ``place`` on; the last is followed by the first. ``find`` gives
    what is to be seen of a place."""

    def __init__(
        self,
        table: SampleTable,
        images: SampleImages,
        find: Callable[[int], Thumbnail],
        place: int,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.at = place
        self._table = table
        self._find = find
        images.arrived.connect(self._show)
        table.modelReset.connect(self.reject)  # other samples are listed now
        self._show()

    def step(self, by: int) -> None:
        self.at = (self.at + by) % len(self._table.rows)
        self._show()

    @Slot()
    def _show(self) -> None:
        self.show_sample(self._find(self.at), f"{self.at + 1:,} of {len(self._table.rows):,}")
