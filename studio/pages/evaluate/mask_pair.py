"""The true and the predicted classes of one image beside each other."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from studio.panels.samples.enlarged_sample import SampleView
from studio.panels.samples.images import IGNORED
from studio.panels.samples.mask_bar import MaskBar
from studio.panels.samples.mask_overlay import Layer, lay_over
from studio.theme import SPACING
from studio.widgets import Thumbnail, hand_keyboard_on, hbox, in_widget, label, vbox
from training.predictions import Evaluation

_SIDES: tuple[tuple[str, str], ...] = (("prediction", "Prediction"), ("errors", "Errors"), ("image", "Image"))


class MaskPair(QWidget):
    """At the left the truth, at the right the prediction, its errors or the image alone, or where the network looked.

    Signals: `class_pressed(int)`: a pixel of that class was clicked, of the true one at the left, of the predicted one at the right.
    """

    class_pressed = Signal(int)

    def __init__(self, evaluation: Evaluation) -> None:
        super().__init__()
        self._truth, self._prediction = evaluation.column("target"), evaluation.column("prediction")
        self._shown: tuple[Thumbnail, int] | None = None
        self.left, self.right = SampleView(), SampleView()
        self.words = label("", "caption")
        self.bar = MaskBar(_SIDES, "prediction")
        self.bar.set_classes(evaluation.record.names)
        self.bar.changed.connect(self._draw)
        for side, classes in ((self.left, self._truth), (self.right, self._prediction)):
            side.pressed.connect(partial(self._press, classes))
        truth = in_widget(vbox(label("Truth", "caption"), (self.left, 1), spacing=SPACING.xs))
        answer = in_widget(vbox(self.words, (self.right, 1), spacing=SPACING.xs))
        vbox((hbox((truth, 1), (answer, 1), spacing=SPACING.m), 1), self.bar, parent=self, spacing=SPACING.m)
        hand_keyboard_on(self, self.left)
        self.setMinimumWidth(700)

    def show_sample(self, shown: Thumbnail, row: int) -> None:
        """Show another one: its image, without anything over it, and its row in the evaluation."""
        self._shown = shown, row
        self._draw()

    def show_over(self, overlay: tuple[QImage, QImage] | None) -> None:
        """Show at the right where the network looked, in place of the layer."""
        self.right.set_overlay(overlay)
        self.words.setText("Where the network looked" if overlay is not None else dict(_SIDES)[self.bar.layer])

    def _press(self, classes: NDArray[np.generic], across: float, down: float) -> None:
        if self._shown is not None:
            mask = classes[self._shown[1]]
            number = int(mask[int(down * mask.shape[0]), int(across * mask.shape[1])])
            if number != IGNORED:
                self.class_pressed.emit(number)

    def _draw(self) -> None:
        if self._shown is None:
            return
        thumbnail, row = self._shown
        truth, prediction = self._truth[row], self._prediction[row]
        self.words.setText(dict(_SIDES)[self.bar.layer])
        sides: tuple[tuple[SampleView, Layer], ...] = ((self.left, "truth"), (self.right, self.bar.layer))
        for view, layer in sides:
            drawn = lay_over(thumbnail.image, truth, prediction, layer, self.bar.opacity)
            view.set_thumbnail(Thumbnail(drawn, thumbnail.caption, f"{layer}: {thumbnail.tooltip}"))
