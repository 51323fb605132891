"""How the tree of checkpoints looks, and what it does with keys and clicks."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QContextMenuEvent, QFontMetricsF, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTreeView, QWidget

from studio.panels.delegates import paint_pill
from studio.panels.run_words import status_words
from studio.state.runs.checkpoint_list import epochs
from studio.state.runs.checkpoint_tree import ROW_ROLE, WORTH_ROLE, Branch, CheckpointTree, Note
from studio.theme import RADIUS, Tone, font, icon, set_property, theme
from training.runs.records.manifest import CheckpointInfo

_TONES: dict[str, Tone] = {"best": "success", "last": "info", "keep": "neutral"}
_INDENT = 22
_MARGIN = 10
_AIR = 7  # above and below the text of a row
_ICON = 16
_PILL_ROOM = 110


class CheckpointTreeView(QTreeView):
    """Signals: `menu_asked(QPoint)`, a place on the screen, by the right button or the key for menus."""

    menu_asked = Signal(QPoint)

    def __init__(self, model: CheckpointTree) -> None:
        super().__init__()
        self.setModel(model)
        self.setItemDelegate(CheckpointDelegate(self))
        self.setHeaderHidden(True)
        self.setIndentation(_INDENT)
        self.setExpandsOnDoubleClick(False)  # it opens a branch
        self.setAccessibleName("Checkpoints")
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setMouseTracking(True)
        self.setMinimumHeight(120)
        set_property(self, "flat", True)
        model.rowsInserted.connect(self._unfold)

    @Slot(QModelIndex, int, int)
    def _unfold(self, above: QModelIndex, _first: int, _last: int) -> None:
        """What is known is seen: branches wait to be asked, since each is read then."""
        row = above.data(ROW_ROLE)
        if isinstance(row, CheckpointInfo) or (isinstance(row, Branch) and row.is_parent):
            self.expand(above)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            self.menu_asked.emit(self.viewport().mapToGlobal(self.visualRect(self.currentIndex()).center()))
        elif self.indexAt(event.pos()).isValid():
            self.menu_asked.emit(event.globalPos())


class CheckpointDelegate(QStyledItemDelegate):
    """Paints a CheckpointInfo in two lines, a Branch or a Note in one; a Stretch is a widget of ``view``."""

    def __init__(self, view: QTreeView) -> None:
        super().__init__(view)
        self._view = view

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        row = index.data(ROW_ROLE)
        rect = QRectF(option.rect).adjusted(2, 1, -2, -1)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette = theme().palette
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected:  # as Qt does left of it, where the arrows are
            painter.fillRect(option.rect, QColor(palette.selection))
        elif option.state & QStyle.StateFlag.State_MouseOver and not isinstance(row, Note):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.hover))
            painter.drawRoundedRect(rect, RADIUS.medium, RADIUS.medium)
        inner = rect.adjusted(_MARGIN, 0, -_MARGIN, 0)
        if isinstance(row, CheckpointInfo):
            _paint_checkpoint(painter, inner, row, index.data(WORTH_ROLE))
        elif isinstance(row, Branch):
            _paint_branch(painter, inner, row)
        elif isinstance(row, Note):
            painter.setFont(font("caption"))
            painter.setPen(QColor(palette.muted))
            painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter, row.words)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        body, caption = _line("body"), _line("caption")
        row = index.data(ROW_ROLE)
        high = round((body + caption + 2 if isinstance(row, CheckpointInfo) else body) + 2 * _AIR)
        made = self._view.indexWidget(index)  # of a Stretch
        return QSize(160, max(high, made.sizeHint().height() if made is not None else 0))

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        editor.setGeometry(option.rect)  # not in the room of a text, which the style sheet makes lower than the row


def _line(role: str) -> float:
    """The height of a line in this role."""
    return QFontMetricsF(font("body" if role == "body" else "caption")).height()


def _paint_checkpoint(painter: QPainter, room: QRectF, info: CheckpointInfo, worth: str) -> None:
    palette = theme().palette
    upper = QRectF(room.left(), room.top() + _AIR - 1, room.width(), _line("body"))
    face = font("body")
    face.setWeight(face.Weight.Medium)
    painter.setFont(face)
    painter.setPen(QColor(palette.text))
    title = f"Step {info.step:,}"
    painter.drawText(upper, Qt.AlignmentFlag.AlignVCenter, title)
    left = upper.left() + painter.fontMetrics().horizontalAdvance(title) + 10
    for label in info.labels:
        left += paint_pill(painter, QPointF(left, upper.center().y()), label, _TONES.get(label, "neutral")) + 5
    painter.setFont(font("caption"))
    painter.setPen(QColor(palette.muted))
    for words in epochs(info):
        if left + painter.fontMetrics().horizontalAdvance(words) <= upper.right():  # else the tool tip has them
            painter.drawText(upper, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, words)
    lower = QRectF(room.left(), upper.bottom() + 2, room.width(), _line("caption"))
    text = painter.fontMetrics().elidedText(worth, Qt.TextElideMode.ElideRight, int(lower.width()))
    painter.drawText(lower, Qt.AlignmentFlag.AlignVCenter, text)


def _paint_branch(painter: QPainter, room: QRectF, branch: Branch) -> None:
    mark = icon("branch", "muted").pixmap(_ICON, _ICON)
    painter.drawPixmap(QPointF(room.left(), room.center().y() - _ICON / 2).toPoint(), mark)
    room = room.adjusted(_ICON + 8, 0, 0, 0)
    painter.setFont(font("body"))
    painter.setPen(QColor(theme().palette.text))
    words, tone = status_words(branch.status)
    metrics = painter.fontMetrics()
    text = metrics.elidedText(branch.words, Qt.TextElideMode.ElideRight, int(room.width()) - _PILL_ROOM)
    painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)
    paint_pill(painter, QPointF(room.left() + metrics.horizontalAdvance(text) + 10, room.center().y()), words, tone)
