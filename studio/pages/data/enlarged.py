"""One image of the data, large: as it is, beside it as the model sees it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from studio.panels.data.data_images import DataImages, no_image
from studio.panels.samples.enlarged_sample import EnlargedSample, SampleView
from studio.theme import SPACING
from studio.widgets import STRETCH, button, hand_keyboard_on, hbox, in_widget, label, resize_within_parent, vbox

_LEAST = 260


class EnlargedData(EnlargedSample):
    """Goes through what ``images`` lists from ``place`` on; the last is followed by the first.

    Signals: `exclude_asked(int)` with the sample's own number.
    """

    exclude_asked = Signal(int)

    def __init__(
        self, images: DataImages, place: int, parent: QWidget | None = None, *, exclude: str = "Exclude"
    ) -> None:
        self._varied = SampleView()
        self._original = SampleView()
        for view in (self._original, self._varied):
            view.setMinimumSize(_LEAST, _LEAST)
        self._beside = in_widget(vbox(label("As the model sees it in training", "caption"), (self._varied, 1)))
        self._above = label("As it is", "caption")
        pair = in_widget(
            hbox((in_widget(vbox(self._above, (self._original, 1))), 1), (self._beside, 1), spacing=SPACING.m)
        )
        hand_keyboard_on(pair, self._original)
        self.exclude = button(exclude, "minus", tooltip="Put on the exclude list, or take off it (Del)")
        super().__init__(parent, view=pair, below=in_widget(hbox(self.exclude, STRETCH)))
        self._images = images
        self._place = place
        self._number = -1
        self.exclude.setVisible(bool(exclude))
        self.exclude.clicked.connect(self._exclude)
        images.arrived.connect(self._show)
        images.relisted.connect(self._show)
        self._show()
        resize_within_parent(self, 1080, 700)

    def step(self, by: int) -> None:
        if self._images.total:
            self._place = (self._place + by) % self._images.total
            self._show()

    def at(self) -> int:
        """The place that is shown."""
        return self._place

    @Slot()
    def _show(self) -> None:
        images = self._images
        if not images.has_data or images.total == 0:
            self.reject()  # what was listed is there no more
            return
        if images.total is None:
            self._show_nothing("", images.refusal)
            return
        self._place = min(self._place, images.total - 1)
        where = f"{self._place + 1:,} of {images.total:,}"
        found = images.find(self._place)
        self._number = found.number if found is not None else -1
        self.exclude.setEnabled(found is not None)
        if found is None:
            self._show_nothing(where, images.why_missing(self._place))
            return
        self.show_sample(found.original, where)
        self._original.set_thumbnail(found.original)
        self._beside.setVisible(found.varied is not None)
        self._above.setVisible(found.varied is not None)
        if found.varied is not None:
            self._varied.set_thumbnail(found.varied)
            if found.varied.tooltip != found.original.tooltip:
                self.detail.setText(f"{self.detail.text()}\nIn training: {found.varied.tooltip}")

    def _show_nothing(self, where: str, why: str) -> None:
        self._number = -1
        self.exclude.setEnabled(False)
        self.show_sample(no_image("Sample"), where)
        self._original.set_thumbnail(no_image(""))
        self._beside.hide()
        self.detail.setText(why or "Loading …")

    @Slot()
    def _exclude(self) -> None:
        if self._number >= 0:
            self.exclude_asked.emit(self._number)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete and not self.exclude.isHidden():
            self._exclude()
        else:
            super().keyPressEvent(event)
