"""Where a network looked, over its image: the heat of Grad-CAM, and what chooses the answer that it speaks for."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from studio.theme import SPACING
from studio.widgets import ComboBox, Slider, Switch, hbox, in_widget, label, vbox
from training.protocol.model_answers import ImageAttention, ImagePixels

_OPACITY = 70
_STOPS = np.array([[110, 20, 150], [225, 50, 75], [255, 150, 30], [255, 235, 90]], np.float64)
"""From cold to hot, each lighter than the one before: readable without telling the hues apart."""
_WIDEST = 220
EXPLANATION = "The brighter, the more that place speaks for the answer (Grad-CAM)."


def read_pixels(given: ImagePixels) -> QImage:
    """As an image of its own memory."""
    kind = QImage.Format.Format_Grayscale8 if given.channels == 1 else QImage.Format.Format_RGB888
    pixels = base64.b64decode(given.pixels_base64)
    # A copy, because QImage only borrows the bytes it is given.
    return QImage(pixels, given.width, given.height, given.width * given.channels, kind).copy()


def color_heat(attention: ImageAttention) -> QImage:
    """The heat in colors, transparent where there is none."""
    width, height = attention.image.width, attention.image.height
    heat = np.frombuffer(base64.b64decode(attention.heat_base64), np.uint8).reshape(height, width)
    place = np.linspace(0.0, 1.0, len(_STOPS))
    table = np.stack([np.interp(np.linspace(0.0, 1.0, 256), place, channel) for channel in _STOPS.T], axis=1)
    colored = np.concatenate([table[heat], heat[..., np.newaxis]], axis=2)
    shown = np.ascontiguousarray(np.rint(colored), np.uint8)
    return QImage(shown.tobytes(), width, height, 4 * width, QImage.Format.Format_RGBA8888).copy()


class AttentionBar(QWidget):
    """Switches the heat on, and says for which answer and how much of it is seen.

    Signals: `changed()` it is switched, or another answer is asked about; `opacity_changed(float)` from 0 to 1.
    """

    changed = Signal()
    opacity_changed = Signal(float)

    def __init__(self) -> None:
        super().__init__()
        self.switch = Switch("Where the network looked")
        self.output = ComboBox()
        self.output.setAccessibleName("The answer that the places speak for")
        self.output.setMaximumWidth(_WIDEST)
        self.output.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.opacity = Slider()
        self.opacity.setRange(0, 100)
        self.opacity.setValue(_OPACITY)
        self.opacity.setAccessibleName("Opacity of where the network looked")
        self.words = label("", "help", wrap=True)
        self.words.setMinimumHeight(2 * self.words.fontMetrics().lineSpacing())  # nothing moves while it changes
        self._more = in_widget(
            hbox(label("For", "caption"), (self.output, 1), label("Opacity", "caption"), (self.opacity, 1))
        )
        policy = self._more.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # the switch stays where it is
        self._more.setSizePolicy(policy)
        vbox(hbox(self.switch, (self._more, 1), spacing=SPACING.m), self.words, parent=self, spacing=SPACING.xs)
        self.switch.toggled.connect(self._on_toggled)
        self.output.activated.connect(self.changed)
        self.opacity.valueChanged.connect(lambda percent: self.opacity_changed.emit(percent / 100))
        self._on_toggled(False)

    @property
    def is_on(self) -> bool:
        """Whether the heat is to be seen."""
        return self.switch.isChecked()

    @property
    def chosen(self) -> int | None:
        """The number of the class, label or value that is asked about; None: what the model answers."""
        number: int | None = self.output.currentData()
        return number

    @property
    def strength(self) -> float:
        """How much of the heat is seen, from 0 to 1."""
        return self.opacity.value() / 100

    def choose(self, number: int) -> None:
        """Ask about the class, label, value or target with that number."""
        self.output.setCurrentIndex(self.output.findData(number))
        self.changed.emit()

    def set_names(self, names: Sequence[str]) -> None:
        """What can be asked about."""
        with QSignalBlocker(self.output):
            self.output.clear()
            self.output.addItem("Its answer", None)
            for number, name in enumerate(names):
                self.output.addItem(name, number)

    def say(self, words: str) -> None:
        """A line below; "" removes it."""
        self.words.setText(words)
        self.words.setVisible(bool(words))

    def describe(self, attention: ImageAttention) -> str:
        """What is seen, in a sentence or two."""
        name = self.output.itemText(attention.output + 1)
        if attention.nothing:
            return f"No place of this image speaks for “{name}”."
        layer = f" “{attention.layer}”" if attention.layer else ""
        grid = f"the last {attention.kind}{layer}, {attention.rows} × {attention.columns} places"
        return f"For “{name}”. {EXPLANATION} Seen by {grid}."

    def _on_toggled(self, on: bool) -> None:
        self._more.setVisible(on)
        self.say("")
        self.changed.emit()
