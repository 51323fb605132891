"""Widgets beside each other, in as many lines as the width asks for."""

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

from studio.theme import SPACING


class FlowLayout(QLayout):
    """Lines from the top, filled from the left. ``cell``: all get the same width, at least so many pixels, and fill the lines."""

    def __init__(self, parent: QWidget | None = None, *, spacing: int = SPACING.s, cell: int = 0) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._cell = cell
        self.setSpacing(spacing)
        self.setContentsMargins(0, 0, 0, 0)

    def set_cell(self, cell: int) -> None:
        """Give all at least so many pixels."""
        if cell != self._cell:
            self._cell = cell
            self.invalidate()

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._place(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, room: QRect) -> None:
        super().setGeometry(room)
        self._place(room, move=True)

    def sizeHint(self) -> QSize:
        sizes = [item.sizeHint() for item in self._list_visible()]
        width = sum(size.width() for size in sizes) + self.spacing() * max(len(sizes) - 1, 0)
        return QSize(width, max((size.height() for size in sizes), default=0))

    def minimumSize(self) -> QSize:
        sizes = [item.minimumSize() for item in self._list_visible()]
        return QSize(max((s.width() for s in sizes), default=0), max((s.height() for s in sizes), default=0))

    def _list_visible(self) -> list[QLayoutItem]:
        return [item for item in self._items if not item.isEmpty()]

    def _place(self, room: QRect, *, move: bool) -> int:
        """Lay the items out in ``room``; returns the height they take."""
        items, gap, top = self._list_visible(), self.spacing(), room.top()
        across = min(max(1, (room.width() + gap) // (self._cell + gap)), max(len(items), 1))
        lines: list[list[tuple[QLayoutItem, int, int]]] = [[]]  # each with its place from the left, and its width
        left = 0
        for item in items:
            width = (room.width() + gap) // across - gap if self._cell else min(item.sizeHint().width(), room.width())
            if left and left + width > room.width():
                left = 0
                lines.append([])
            lines[-1].append((item, left, width))
            left += width + gap
        for line in lines:
            height = max((_height_of(item, width) for item, _left, width in line), default=0)
            for item, left, width in line if move else ():
                own = height if self._cell else _height_of(item, width)
                item.setGeometry(QRect(QPoint(room.left() + left, top + (height - own) // 2), QSize(width, own)))
            top += height + gap
        return top - gap - room.top()


def _height_of(item: QLayoutItem, width: int) -> int:
    return item.heightForWidth(width) if item.hasHeightForWidth() else item.sizeHint().height()
