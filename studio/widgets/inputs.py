"""A choice that the mouse wheel cannot change by accident, a field that searches, and a path with a chooser."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QEvent, QObject, QRect, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QDragEnterEvent,
    QDropEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QFileDialog,
    QLineEdit,
    QListView,
    QMenu,
    QSizePolicy,
    QStyle,
    QStyleOptionFrame,
    QWidget,
)

from studio.theme import icon, set_invalid
from studio.widgets.buttons import button
from studio.widgets.layouts import hand_keyboard_on, hbox

PathMode = Literal["file", "folder", "any"]


def take_keyboard(holder: QWidget, parts: Iterable[QWidget]) -> None:
    """Give the keyboard to ``holder`` if it is in one of ``parts``, which are about to go: Qt would give it to the next line that
    stays, and select what stands there."""
    focused = QApplication.focusWidget()
    if focused is not None and any(part.isAncestorOf(focused) for part in parts):
        holder.setFocus()


class ComboBox(QComboBox):
    """A choice from a list. Scrolling a page over it scrolls the page."""

    def __init__(self) -> None:
        super().__init__()
        # Without a view of its own Fusion shows a native menu that the style sheet does not reach.
        self.setView(QListView(self))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.setMinimumContentsLength(6)
        self.setMaxVisibleItems(16)

    def setAccessibleName(self, name: str) -> None:
        """Also the description: on Linux Qt calls a list by what is chosen in it, and nobody would hear what that is for."""
        super().setAccessibleName(name)
        super().setAccessibleDescription(name)

    def setAccessibleDescription(self, description: str) -> None:
        """After the name."""
        super().setAccessibleDescription(". ".join(filter(None, (self.accessibleName(), description))))

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class SearchLine(QLineEdit):
    """A line whose words are looked for, with a magnifying glass; ``name`` is read aloud, and stands in the empty line unless
    ``placeholder`` does. Qt gives its two buttons no names."""

    def __init__(self, name: str, placeholder: str = "") -> None:
        super().__init__(placeholderText=placeholder or name)
        self.setAccessibleName(name)
        self.setClearButtonEnabled(True)
        for clear in self.findChildren(QAction):
            clear.setText("Clear")
        self.addAction(icon("search", "muted"), QLineEdit.ActionPosition.LeadingPosition).setText("Search")


class PathLine(QLineEdit):
    """A path too long for the line is shortened in its middle while nobody types: its beginning and its end tell what it is."""

    def find_shown(self) -> str:
        """What can be read now."""
        if self.hasFocus():
            return self.text()
        return self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideMiddle, self._find_room().width())

    def paintEvent(self, event: QPaintEvent) -> None:
        shown = self.find_shown()
        if shown == self.text():
            super().paintEvent(event)
            return
        option = QStyleOptionFrame()
        self.initStyleOption(option)
        painter = QPainter(self)
        self.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelLineEdit, option, painter, self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self._find_room(), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)

    def _find_room(self) -> QRect:
        option = QStyleOptionFrame()
        self.initStyleOption(option)
        return self.style().subElementRect(QStyle.SubElement.SE_LineEditContents, option, self).adjusted(2, 0, -2, 0)


class PathEdit(QWidget):
    """A path to type, pick or drop. Signals: `path_changed(str)` at every change."""

    path_changed = Signal(str)

    def __init__(self, mode: PathMode = "folder", *, title: str = "") -> None:
        super().__init__()
        self._mode = mode
        self._title = title or ("Choose a folder" if mode == "folder" else "Choose a file")
        self.line_edit = PathLine()
        self.line_edit.textChanged.connect(self.line_edit.setToolTip)
        self.line_edit.setAcceptDrops(False)  # else it would insert "file:///..." itself
        self.line_edit.textChanged.connect(self.path_changed)
        self._browse = button("Browse…", "folder")
        self._browse.setToolTip(self._title)
        if mode == "any":
            menu = QMenu(self)
            menu.addAction("A file…", self._browse_file)
            menu.addAction("A folder…", self._browse_folder)
            self._browse.setMenu(menu)
        else:
            self._browse.clicked.connect(self._browse_folder if mode == "folder" else self._browse_file)
        self.setAcceptDrops(True)
        hand_keyboard_on(self, self.line_edit)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        hbox((self.line_edit, 1), self._browse, parent=self)

    def path(self) -> str:
        """What stands in the field, as it was typed."""
        return self.line_edit.text()

    def set_path(self, path: str) -> None:
        """Put a path into the field; no signal when it is there already."""
        if path != self.path():
            self.line_edit.setText(path)

    def set_placeholder(self, text: str) -> None:
        """What the empty field says."""
        self.line_edit.setPlaceholderText(text)

    def set_invalid(self, invalid: bool) -> None:
        """Mark the field as wrong."""
        set_invalid(self.line_edit, invalid)

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        self.line_edit.setAccessibleName(name)
        self._browse.setAccessibleName(f"Browse for {name.lower()}")

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._find_dropped(event) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        path = self._find_dropped(event)
        if path is not None:
            self.set_path(path)
            event.acceptProposedAction()

    def _find_dropped(self, event: QDropEvent) -> str | None:
        """The local path being dropped, as far as this field can take it; a file dropped on a folder field gives its
        folder."""
        local = next((Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()), None)
        if local is None:
            return None
        if self._mode == "folder" and not local.is_dir():
            return str(local.parent)
        if self._mode == "file" and local.is_dir():
            return None
        return str(local)

    def _browse_file(self) -> None:
        self._take(QFileDialog.getOpenFileName(self, self._title, self._start())[0])

    def _browse_folder(self) -> None:
        self._take(QFileDialog.getExistingDirectory(self, self._title, self._start()))

    def _start(self) -> str:
        return self.path() or str(Path.home())

    def _take(self, chosen: str) -> None:
        if chosen:
            self.set_path(chosen)


class _UndoKeys(QObject):
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
            return False
        assert isinstance(watched, QLineEdit)
        undo, redo = (event.matches(keys) for keys in (QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo))
        passes_on = (undo and not watched.isUndoAvailable()) or (redo and not watched.isRedoAvailable())
        if passes_on:
            event.ignore()
        return passes_on


def leave_undo_to_page(line: QLineEdit) -> None:
    """A line takes the keys of undo and redo for itself, even where it has nothing to take back: then they are the page's."""
    line.installEventFilter(_UndoKeys(line))
