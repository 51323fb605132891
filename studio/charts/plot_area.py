"""Where a plot is drawn: the canvas, or the words that stand there while there is nothing to draw."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.charts.plot_canvas import PlotCanvas
from studio.widgets import label


class PlotArea(QWidget):
    """Empty at first. Words and canvas take the same room."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.canvas = PlotCanvas()
        policy = self.canvas.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.canvas.setSizePolicy(policy)
        self.canvas.hide()
        self.words = label("No data yet", "caption")
        self.words.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.addWidget(self.canvas, 0, 0)
        grid.addWidget(self.words, 0, 0, Qt.AlignmentFlag.AlignCenter)

    def take_words_back(self) -> None:
        """Data came, and will be drawn soon: what the words say is not true any more."""
        if not self.words.isHidden():
            self.words.hide()

    def show_drawing(self, on: bool) -> None:
        """The canvas, or the words."""
        self.words.setVisible(not on)
        if self.canvas.isHidden() == on:
            self.canvas.setVisible(on)
            # Qt paints at once where a widget was hidden, and where one is shown only with its next events: until then
            # the curve would be seen through the hole that the words leave.
            self.canvas.viewport().update()
