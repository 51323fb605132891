"""A horizontal slider that goes where it is clicked."""

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QSlider, QStyle, QStyleOptionSlider


class Slider(QSlider):
    """Qt's own goes by a page of ten towards a click, which over few stops is nearly from end to end."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setPageStep(1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        handle = self._part(QStyle.SubControl.SC_SliderHandle)
        if event.button() == Qt.MouseButton.LeftButton and not handle.contains(event.position().toPoint()):
            groove = self._part(QStyle.SubControl.SC_SliderGroove)
            way = round(event.position().x()) - groove.left() - handle.width() // 2
            room = groove.width() - handle.width()
            self.setValue(QStyle.sliderValueFromPosition(self.minimum(), self.maximum(), way, room))
        super().mousePressEvent(event)  # the handle is under the mouse now, and can be dragged on

    def _part(self, part: QStyle.SubControl) -> QRect:
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        return self.style().subControlRect(QStyle.ComplexControl.CC_Slider, option, part, self)
