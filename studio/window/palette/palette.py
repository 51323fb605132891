"""A line to type into, and below it what fits: all by the keyboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QRect, QSize, Qt, Slot
from PySide6.QtGui import QColor, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QDialog,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.services.settings import SettingsStore
from studio.theme import RADIUS, SPACING, font, icon, set_property, theme
from studio.widgets import NO_PARENT, AnyIndex, SearchLine, label, vbox
from studio.window.palette.entry import Entry, find

_WIDTH, _HEIGHT = 640, 460  # pixels, for text of the designed size
_REMEMBERED = 20  # entries used last
_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
_ENTRY_ROLE = Qt.ItemDataRole.UserRole
_NONE = "Nothing fits. Try other words: a command, a setting, a run, a page of the help."


class CommandPalette(QDialog):
    """``collect`` lists all that can be found now, each time the palette is opened. What was used last is offered first; ``model`` holds
    what is offered, best first."""

    def __init__(self, settings: SettingsStore, collect: Callable[[], Sequence[Entry]], parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._settings = settings
        self._collect = collect
        self._entries: Sequence[Entry] = ()
        self.setAccessibleName("Command palette")
        set_property(self, "palette", True)
        self.line = SearchLine("Find anything", "Find a command, a setting, a run, a page of the help")
        self.model = _FoundModel(self)
        self.view = QListView()
        self.view.setModel(self.model)
        self.view.setItemDelegate(_EntryDelegate(self.view))
        self.view.setUniformItemSizes(True)
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.view.setMouseTracking(True)
        self.view.setAccessibleName("What was found")
        set_property(self.view, "flat", True)
        self._none = label(_NONE, "help", wrap=True)
        self.problem = label("", "help", wrap=True)
        vbox(self.line, self._none, (self.view, 1), self.problem, parent=self, spacing=SPACING.s, margins=SPACING.m)
        self.line.textChanged.connect(self._look)
        self.line.installEventFilter(self)
        self.view.clicked.connect(self._carry_out)
        self.view.selectionModel().currentChanged.connect(self._tell_current)

    def open_over(self, window: QWidget) -> None:
        """Show it at the top of ``window``, with the line empty."""
        scale = theme().font_scale
        width = min(round(_WIDTH * scale), window.width() - 2 * SPACING.xxl)
        height = min(round(_HEIGHT * scale), window.height() - 2 * SPACING.xxl)
        corner = window.mapToGlobal(window.rect().topLeft())
        self.setGeometry(corner.x() + (window.width() - width) // 2, corner.y() + SPACING.xxl, width, height)
        self._entries = self._collect()
        self.line.clear()
        self._look()
        self.show()
        self.line.setFocus(Qt.FocusReason.PopupFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in _MOVES:
                self._move(event.key())
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._carry_out(self.view.currentIndex())
                return True
        return False

    def _look(self) -> None:
        self.model.show_entries(find(self._entries, self.line.text(), self._recent()))
        self.view.setCurrentIndex(self.model.index(0))
        self.view.scrollToTop()
        self._none.setVisible(not self.model.entries)
        self._tell_current()

    def _move(self, key: int) -> None:
        count = len(self.model.entries)
        page = max(self.view.height() // max(self.view.sizeHintForRow(0), 1), 1)
        by = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}[Qt.Key(key)]
        if count:
            at = min(max(self.view.currentIndex().row() + by, 0), count - 1)
            self.view.setCurrentIndex(self.model.index(at))

    @Slot()
    def _tell_current(self) -> None:
        entry: Entry | None = self.view.currentIndex().data(_ENTRY_ROLE)
        problem = entry.problem if entry is not None else ""
        self.problem.setText(f"Cannot be used now: {problem}" if problem else "")
        self.problem.setVisible(bool(problem))
        words = ". ".join(filter(None, (entry.title, self.problem.text()))) if entry is not None else _NONE
        self.line.setAccessibleDescription(words)

    def _carry_out(self, index: QModelIndex) -> None:
        entry: Entry | None = index.data(_ENTRY_ROLE)
        if entry is None or entry.problem:
            return
        self.hide()
        recent = [entry.key, *(key for key in self._recent() if key != entry.key)]
        self._settings.update(recent="\n".join(recent[:_REMEMBERED]))
        entry.act()

    def _recent(self) -> Sequence[str]:
        return self._settings.get().recent.split("\n")


class _FoundModel(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.entries: Sequence[Entry] = ()

    def show_entries(self, entries: Sequence[Entry]) -> None:
        self.beginResetModel()
        self.entries = entries
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.entries)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        entry = self.entries[index.row()]
        if role == _ENTRY_ROLE:
            return entry
        return f"{entry.title}, {entry.kind}" if role == Qt.ItemDataRole.DisplayRole else None


class _EntryDelegate(QStyledItemDelegate):
    """Icon and title; at the right what it is, and its keys or place."""

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(200, option.fontMetrics.height() + 16)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        entry: Entry = index.data(_ENTRY_ROLE)
        palette, rect = theme().palette, option.rect.adjusted(2, 1, -2, -1)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if selected or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.selection if selected else palette.hover))
            painter.drawRoundedRect(rect, RADIUS.medium, RADIUS.medium)
        inner = rect.adjusted(10, 0, -10, 0)
        side = 16
        if entry.icon:
            place = QRect(inner.left(), rect.center().y() - side // 2, side, side)
            icon(entry.icon, "muted").paint(painter, place)
        inner.setLeft(inner.left() + side + 10)
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setFont(font("caption"))
        painter.setPen(QColor(palette.muted))
        facts = entry.problem or " · ".join(filter(None, (entry.hint, entry.kind)))
        mode = Qt.TextElideMode.ElideRight if entry.problem else Qt.TextElideMode.ElideLeft
        words = painter.fontMetrics().elidedText(facts, mode, inner.width() // 2)
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignRight, words)
        inner.setRight(inner.right() - painter.fontMetrics().horizontalAdvance(words) - 12)
        painter.setFont(font("body"))
        painter.setPen(QColor(palette.muted if entry.problem else palette.text))
        title = painter.fontMetrics().elidedText(entry.title, Qt.TextElideMode.ElideRight, inner.width())
        painter.drawText(inner, middle, title)
        painter.restore()
