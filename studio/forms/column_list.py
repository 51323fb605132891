"""The columns of the dataset's table to tick: their names, what they hold, what is missing, and what they are for."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QHideEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from studio.theme import SPACING, set_property, theme
from studio.widgets import ALIGN_RIGHT, SearchLine, Switch, vbox
from training.protocol.answers import Column

_MOST_ROWS = 14
_LEAST_ROWS = 3
_SEARCHED = 12  # from so many columns on there is a field to find one
_WIDEST_NAME, _NARROWEST = 260, 320
_NAME, _HOLDS, _DISTINCT, _MISSING, _ROLE = range(5)
_TITLES = ("Column", "Type", "Unique", "Missing", "Role")


class ColumnList(QFrame):
    """A list that opens beside an editor and stays while columns are ticked: in the file's order, and as it is while it is open.
    With a ``switch`` it takes one column, until the switch of that name says several.

    Signals: `ticked(name, on)` by the person, `closed()`.
    """

    ticked = Signal(str, bool)
    closed = Signal()

    def __init__(self, parent: QWidget, switch: str = "") -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._columns: tuple[Column, ...] = ()
        self._next: tuple[Column, ...] | None = None  # what to offer when it is opened again
        self._suggested = not switch
        self.switch = Switch(switch)
        self.switch.setAccessibleName(switch)
        self.switch.setChecked(not switch)
        self.switch.setVisible(bool(switch))
        self.search = SearchLine("Find a column")
        self.view = QTreeWidget()
        self._dress()
        vbox(self.search, self.view, self.switch, parent=self, margins=SPACING.s)
        self.search.textChanged.connect(self._find)
        self.switch.clicked.connect(self._on_switched)
        self.view.itemChanged.connect(self._on_changed)
        self.view.itemClicked.connect(self._toggle)
        self.view.installEventFilter(self)

    def _dress(self) -> None:
        view = self.view
        view.setProperty("flat", True)
        view.setAccessibleName("Columns")
        view.setHeaderLabels(_TITLES)
        view.setRootIsDecorated(False)
        view.setUniformRowHeights(True)
        view.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = view.header()
        header.setSectionsMovable(False)
        header.setStretchLastSection(False)
        for column in range(len(_TITLES)):
            stretches = column == _NAME
            mode = QHeaderView.ResizeMode.Stretch if stretches else QHeaderView.ResizeMode.ResizeToContents
            header.setSectionResizeMode(column, mode)
        for column in (_DISTINCT, _MISSING):
            view.headerItem().setTextAlignment(column, ALIGN_RIGHT)

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Offer other columns; the same ones stay ticked as they are. A list that is open keeps its own: a click hits what was seen."""
        if self.isVisible() and [column.name for column in columns] != [column.name for column in self._columns]:
            self._next = tuple(columns)
            return
        self._next = None
        self.view.blockSignals(True)
        if [column.name for column in columns] != [self._name(item) for item in self._items()]:
            self.view.clear()
            self.view.addTopLevelItems([_row(column.name) for column in columns])
        self._columns = tuple(columns)
        self._tell()
        self.view.blockSignals(False)

    @property
    def several(self) -> bool:
        """Whether more than one column may be ticked."""
        return self.switch.isChecked()

    def suggest_several(self, several: bool) -> None:
        """Begin with several when it is opened next, or with one; for a list that can do both."""
        self._suggested = several or not self.switch.text()

    def _tell(self) -> None:
        for item, column in zip(self._items(), self._columns, strict=True):
            _tell(item, column)

    def open_beside(self, widget: QWidget, ticked: Sequence[str]) -> None:
        """Show the list below ``widget`` with those ticked; above it, where the window has more room there."""
        items = self._items()
        self._set_several(self._suggested or len(ticked) > 1)
        self.view.blockSignals(True)
        self._tell()  # in the colors of the theme as it is now
        for item in items:
            on = self._name(item) in ticked
            item.setCheckState(_NAME, Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)
        self.view.blockSignals(False)
        if items:  # Space acts on a row that is seen
            self.view.setCurrentItem(next((item for item in items if self._name(item) in ticked), items[0]))
        many = len(items) >= _SEARCHED
        self.search.clear()
        self.search.setVisible(many)
        self._place(widget, widget.window().geometry())
        (self.search if many else self.view).setFocus()  # before it is shown, which would give it to the first part
        self.show()

    def _place(self, widget: QWidget, window: QRect) -> None:
        """Within ``window``, as large as the columns need."""
        view, top = self.view, widget.mapToGlobal(QPoint(0, 0))
        row = max(view.sizeHintForRow(0), 20)
        head = view.header().sizeHint().height() + 4
        shown = [each for each in (self.search, self.switch) if each.isVisibleTo(self)]
        edges = 2 * SPACING.s + 2 + sum(each.sizeHint().height() + SPACING.s for each in shown)
        wanted = max(1, min(len(self._items()), _MOST_ROWS)) * row
        below, above = window.bottom() - (top.y() + widget.height() + 2), top.y() - 2 - window.top()
        upwards = below < edges + head + wanted and above > below
        room = (above if upwards else below) - edges - head
        view.setFixedHeight(head + max(min(wanted, room), _LEAST_ROWS * row))
        self.setFixedWidth(min(max(widget.width(), self._width_needed(), _NARROWEST), window.width()))
        self.adjustSize()
        left = min(top.x(), window.right() - self.width())
        self.move(max(left, window.left()), top.y() - 2 - self.height() if upwards else top.y() + widget.height() + 2)

    def _width_needed(self) -> int:
        view = self.view
        name = min(view.sizeHintForColumn(_NAME), _WIDEST_NAME) + SPACING.l
        others = [
            max(view.sizeHintForColumn(column), view.header().sectionSizeHint(column))
            for column in range(_HOLDS, len(_TITLES))
        ]
        # Roles may come while it is open; the names keep their room.
        others[-1] = max(others[-1], view.fontMetrics().horizontalAdvance("categorical") + 2 * SPACING.m)
        return name + sum(others) + view.verticalScrollBar().sizeHint().width() + 2 * SPACING.s + 2

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Space and Enter do to the row that the keyboard is on what a click does; where one is taken, Enter ends it."""
        item = self.view.currentItem()
        if watched is not self.view or not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return super().eventFilter(watched, event)
        enters = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if item is None or not (enters or event.key() == Qt.Key.Key_Space):
            return super().eventFilter(watched, event)
        if self.several or not enters:
            self._toggle(item)
        else:
            item.setCheckState(_NAME, Qt.CheckState.Checked)
            self.hide()
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape):
            self.hide()
        else:
            super().keyPressEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self._next is not None:
            self.set_columns(self._next)
        self.closed.emit()

    def _items(self) -> list[QTreeWidgetItem]:
        items = (self.view.topLevelItem(row) for row in range(self.view.topLevelItemCount()))
        return [item for item in items if item is not None]

    @staticmethod
    def _name(item: QTreeWidgetItem) -> str:
        return str(item.data(_NAME, Qt.ItemDataRole.UserRole))

    def _find(self, text: str) -> None:
        for item in self._items():
            item.setHidden(text.strip().lower() not in self._name(item).lower())

    @staticmethod
    def _toggle(item: QTreeWidgetItem) -> None:
        on = item.checkState(_NAME) == Qt.CheckState.Checked
        item.setCheckState(_NAME, Qt.CheckState.Unchecked if on else Qt.CheckState.Checked)

    def _on_changed(self, item: QTreeWidgetItem, column: int) -> None:
        if column != _NAME:
            return
        on = item.checkState(_NAME) == Qt.CheckState.Checked
        if on and not self.several:
            self._untick_all_but(item)
        self.ticked.emit(self._name(item), on)

    def _untick_all_but(self, chosen: QTreeWidgetItem) -> None:
        self.view.blockSignals(True)
        for item in self._items():
            if item is not chosen:
                item.setCheckState(_NAME, Qt.CheckState.Unchecked)
        self.view.blockSignals(False)

    def _set_several(self, several: bool) -> None:
        self.switch.setChecked(several)
        set_property(self.view, "single", not several)

    def _on_switched(self, several: bool) -> None:
        set_property(self.view, "single", not several)
        ticked = [item for item in self._items() if item.checkState(_NAME) == Qt.CheckState.Checked]
        if not several and len(ticked) > 1:
            self._untick_all_but(ticked[0])
            self.ticked.emit(self._name(ticked[0]), True)


def _row(name: str) -> QTreeWidgetItem:
    item = QTreeWidgetItem([name])
    item.setData(_NAME, Qt.ItemDataRole.UserRole, name)
    item.setToolTip(_NAME, name)
    item.setFlags(
        Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
    )  # the whole row ticks it, its box no second time
    item.setCheckState(_NAME, Qt.CheckState.Unchecked)
    for column in (_DISTINCT, _MISSING):
        item.setTextAlignment(column, ALIGN_RIGHT)
    return item


def _tell(item: QTreeWidgetItem, column: Column) -> None:
    palette = theme().palette
    item.setText(_HOLDS, column.holds)
    item.setText(_DISTINCT, "" if column.distinct is None else f"{column.distinct:,}")
    item.setText(_MISSING, f"{column.missing:,}" if column.missing else "none")
    item.setText(_ROLE, column.role)
    item.setToolTip(_ROLE, column.about)
    inks = {"target": palette.accent_text, "ignored": palette.muted, "left out": palette.muted}
    for at in (_HOLDS, _DISTINCT, _MISSING, _ROLE):
        warns = at == _MISSING and column.missing
        ink = palette.warning if warns else inks.get(column.role, palette.muted) if at == _ROLE else palette.muted
        item.setForeground(at, QBrush(QColor(ink)))
