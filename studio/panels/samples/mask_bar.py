"""What is laid over images with masks, and how opaque; below it the colors of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from studio.panels.samples.images import class_color
from studio.panels.samples.mask_overlay import Layer
from studio.theme import SPACING
from studio.widgets import Segmented, Slider, hbox, label, vbox

_MOST_NAMES = 24
LAYERS: tuple[tuple[Layer, str], ...] = (
    ("image", "Image"),
    ("truth", "Truth"),
    ("prediction", "Prediction"),
    ("errors", "Errors"),
)


class MaskBar(QWidget):
    """Signals: `changed()` when another layer or opacity is wanted."""

    changed = Signal()

    def __init__(self, layers: Sequence[tuple[str, str]], layer: Layer) -> None:
        super().__init__()
        self.layers = Segmented(list(layers))
        self.layers.setAccessibleName("What is laid over the image")
        self.layers.set_current(layer)
        self.layers.current_changed.connect(self._change)
        self.slider = Slider()
        self.slider.setAccessibleName("Opacity")
        self.slider.setToolTip("How opaque the classes are")
        self.slider.setRange(0, 100)
        self.slider.setPageStep(10)
        self.slider.setValue(60)
        self.slider.setMinimumWidth(60)
        self.slider.valueChanged.connect(self.changed)
        self.legend = label("", "caption", wrap=True)
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        vbox(hbox(self.layers, (self.slider, 1)), self.legend, parent=self, spacing=SPACING.s)

    @property
    def layer(self) -> Layer:
        """What is wanted."""
        return next(key for key, _title in LAYERS if key == self.layers.current())

    @property
    def opacity(self) -> float:
        """From 0 to 1."""
        return self.slider.value() / 100

    def set_classes(self, names: Sequence[str]) -> None:
        """Name the colors of these classes."""
        entries = [
            f'<span style="color:{class_color(number)}">■</span>&nbsp;{escape(name).replace(" ", "&nbsp;")}'
            for number, name in enumerate(names[:_MOST_NAMES])
        ]
        more = len(names) - _MOST_NAMES
        self.legend.setText("&ensp; ".join([*entries, *([f"and {more} more"] if more > 0 else [])]))

    def _change(self) -> None:
        self.slider.setEnabled(self.layer != "image")
        self.changed.emit()
