"""The chosen images with masks, one at a time: truth beside prediction."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from studio.pages.evaluate.listed_sample import ListedSample
from studio.pages.evaluate.mask_pair import MaskPair
from studio.panels.samples.sample_images import SampleImages
from studio.state.evaluations.sample_table import SampleTable
from studio.widgets import Thumbnail
from training.predictions import Evaluation


class MaskDialog(ListedSample):
    """As ``SampleDialog``; ``find`` gives the image without anything over it."""

    def __init__(
        self,
        evaluation: Evaluation,
        table: SampleTable,
        images: SampleImages,
        find: Callable[[int], Thumbnail],
        place: int,
        parent: QWidget | None = None,
    ) -> None:
        self.pair = MaskPair(evaluation)
        super().__init__(table, place, parent, view=self.pair)
        self._find = find
        images.arrived.connect(self._show)
        self._show()

    @Slot()
    def _show(self) -> None:
        shown = self._find(self.at)
        self.show_sample(shown, self.position)
        self.pair.show_sample(shown, self.row)
