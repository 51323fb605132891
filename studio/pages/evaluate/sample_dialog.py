"""The chosen samples, one at a time and large."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Slot
from PySide6.QtWidgets import QWidget

from studio.pages.evaluate.listed_sample import ListedSample
from studio.pages.evaluate.looking import Looking
from studio.pages.evaluate.mask_pair import MaskPair
from studio.panels.samples.attention import AttentionBar, color_heat, read_pixels
from studio.panels.samples.sample_images import SampleImages
from studio.state.evaluations.sample_table import SampleTable
from studio.widgets import Thumbnail

_ROOM = QSize(620, 640)
"""With the words below the image."""


class SampleDialog(ListedSample):
    """``find`` gives what is to be seen of a place, ``looking`` where the network looked in it; None where nothing tells. Images with
    masks are seen in ``pair``: a click on a class asks about it."""

    def __init__(
        self,
        table: SampleTable,
        images: SampleImages,
        find: Callable[[int], Thumbnail],
        place: int,
        parent: QWidget | None = None,
        looking: Looking | None = None,
        pair: MaskPair | None = None,
    ) -> None:
        bar = AttentionBar()
        super().__init__(table, place, parent, pair, below=bar)
        self.bar = bar
        self.pair = pair
        self._seen = pair.right if pair is not None else self.view
        if pair is not None:
            pair.class_pressed.connect(self._choose_class)
            pair.setToolTip("Click a class to see where the network looked for it" if looking is not None else "")
            pair.bar.changed.connect(self._show_attention)
        self._looking = looking
        self.bar.setVisible(looking is not None)
        if looking is not None:
            self.bar.set_names(looking.evaluation.record.names)
            looking.setParent(self)
            looking.changed.connect(self._show_attention)
            self._seen.set_opacity(self.bar.strength)
            self.bar.changed.connect(self._look)
            self.bar.opacity_changed.connect(self._seen.set_opacity)
            self.finished.connect(looking.forget)
        self._find = find
        images.arrived.connect(self._show_image)
        self._show()

    def _show(self) -> None:
        self._show_image()
        self._look()

    @Slot()
    def _show_image(self) -> None:
        shown = self._find(self.at)
        self.show_sample(shown, self.position)
        if self.pair is not None:
            self.pair.show_sample(shown, self.row)
        self._show_attention()

    @Slot(int)
    def _choose_class(self, number: int) -> None:
        if self._looking is not None:
            self.bar.switch.setChecked(True)
            self.bar.choose(number)

    @Slot()
    def _look(self) -> None:
        """Ask where the network looked, where that is wanted."""
        if self._looking is None:
            return
        self._looking.forget()
        if self.bar.is_on:
            self.resize(self.size().expandedTo(_ROOM))
            self._looking.ask(self.row, self.bar.chosen)
        self._show_attention()

    @Slot()
    def _show_attention(self) -> None:
        looking = self._looking
        if looking is None:
            return
        found = looking.attention
        overlay = (read_pixels(found.image), color_heat(found)) if found is not None else None
        if self.pair is not None:
            self.pair.show_over(overlay)
        else:
            self.view.set_overlay(overlay)
        if found is not None:
            self.bar.say(self.bar.describe(found))
        elif self.bar.is_on:
            self.bar.say(looking.problem or "Asking the network …")
