"""Parts of a page that take the height which the others leave."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QScrollArea, QWidget

_RANGE = "heightRange"


def let_grow(widget: QWidget, least: int, most: int) -> None:
    """Give ``widget`` from ``least`` to ``most`` pixels of height, as there is room in the `GrowingRoom` around it."""
    widget.setProperty(_RANGE, (least, max(least, most)))
    if not least <= widget.maximumHeight() <= most:
        widget.setFixedHeight(least)
    widget.updateGeometry()


class GrowingRoom(QObject):
    """Shares what is left of the height of ``area`` out among the parts of its content that were told to grow."""

    def __init__(self, area: QScrollArea) -> None:
        super().__init__(area)
        content = area.widget()
        assert content is not None
        self._content: QWidget = content
        self._settled = QTimer(self, singleShot=True, interval=0)  # once nested layouts have been counted again
        self._settled.timeout.connect(self._share)
        self._content.installEventFilter(self)
        self._seen = area.viewport()  # not asked for later: events come also while the area is being destroyed
        self._seen.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._settled.start()
        return False

    def _share(self) -> None:
        parts = [part for part in self._content.findChildren(QWidget) if part.property(_RANGE) and self._is_shown(part)]
        left = self._seen.height() - self._find_needed() + sum(part.maximumHeight() for part in parts)
        heights = share_out(left, [part.property(_RANGE) for part in parts])
        for part, height in zip(parts, heights, strict=True):
            if height != part.maximumHeight():
                part.setFixedHeight(height)

    def _find_needed(self) -> int:
        """The height of all there is, with the parts as high as they are now."""
        layout = self._content.layout()
        assert layout is not None
        width = self._seen.width()
        return layout.totalHeightForWidth(width) if layout.hasHeightForWidth() else layout.totalSizeHint().height()

    def _is_shown(self, part: QWidget) -> bool:
        return part.isVisibleTo(self._content)


def share_out(room: int, ranges: list[tuple[int, int]]) -> list[int]:
    """Of ``room`` pixels, for each of ``ranges`` at least its first number and at most its second: who needs less than an equal
    share leaves the rest to the others."""
    heights = [least for least, _ in ranges]
    spare = room - sum(heights)
    growing = sorted(range(len(ranges)), key=lambda at: ranges[at][1] - ranges[at][0])
    for place, at in enumerate(growing):
        more = min(max(spare, 0) // (len(growing) - place), ranges[at][1] - heights[at])
        heights[at] += more
        spare -= more
    return heights
