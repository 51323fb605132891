"""Several names: typed with commas, or ticked in a list where the dataset's columns are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from studio.forms.editor import ColumnChoice, Editor
from studio.theme import SPACING, set_invalid
from studio.widgets import icon_button
from training.config.describe import FieldSpec
from training.config.fields import join_names, split_names

_MOST_ROWS = 12
_SEARCHED = 12  # from so many columns on there is a field to find one


class NamesEditor(Editor):
    """A line of names; beside it, for settings that name columns, a button that opens the list of them."""

    def __init__(self, spec: FieldSpec) -> None:
        self._edit = QLineEdit()
        self._edit.setPlaceholderText(spec.placeholder or "none")
        self._edit.setAcceptDrops(False)
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACING.xs)
        row.addWidget(self._edit, 1)
        self.choose_button = icon_button("list", "Choose columns")
        row.addWidget(self.choose_button)
        super().__init__(holder, stretch=True)
        self.setFocusProxy(self._edit)
        self.list = ColumnList(self)
        self.choose_button.setVisible(False)
        self.choose_button.clicked.connect(self._open)
        self.list.ticked.connect(self._on_ticked)
        self.list.closed.connect(self.finished)
        self._edit.textChanged.connect(self._on_edited)
        self._edit.editingFinished.connect(self.finished)
        self._offers_columns = spec.columns

    def value(self) -> Any:
        return split_names(self._edit.text())

    def set_columns(self, columns: Sequence[ColumnChoice]) -> None:
        self.list.set_columns(columns)
        self.choose_button.setVisible(self._offers_columns and bool(columns))

    def set_invalid(self, invalid: bool) -> None:
        set_invalid(self._edit, invalid)

    def describe(self, name: str, description: str) -> None:
        super().describe(name, description)
        self._edit.setAccessibleName(name)
        self._edit.setAccessibleDescription(description)
        self.choose_button.setAccessibleName(f"Choose columns: {name}")
        self.list.setAccessibleName(f"Columns: {name}")

    def _show(self, value: Any) -> None:
        self._edit.setText(join_names([str(name) for name in value]) if isinstance(value, list) else str(value or ""))
        self._edit.setCursorPosition(0)

    def _open(self) -> None:
        names = self.value()
        self.list.open_below(self, names if isinstance(names, list) else [])

    def _on_ticked(self, name: str, on: bool) -> None:
        names = self.value()
        kept = [known for known in names if known != name] if isinstance(names, list) else []
        self._edit.setText(join_names([*kept, name] if on else kept))
        self._edit.setCursorPosition(0)


class ColumnList(QFrame):
    """A list that opens below an editor and stays while columns are ticked.

    Signals: `ticked(name, on)` by the person, `closed()`.
    """

    ticked = Signal(str, bool)
    closed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setProperty("popup", True)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Find a column")
        self.search.setAccessibleName("Find a column")
        self.search.setClearButtonEnabled(True)
        self.view = QListWidget()
        self.view.setProperty("flat", True)
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view.setAccessibleName("Columns")
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACING.s, SPACING.s, SPACING.s, SPACING.s)
        column.setSpacing(SPACING.s)
        column.addWidget(self.search)
        column.addWidget(self.view)
        self.search.textChanged.connect(self._find)
        self.view.itemChanged.connect(self._on_changed)

    def set_columns(self, columns: Sequence[ColumnChoice]) -> None:
        """Offer other columns."""
        known = [(self._name(row), self.view.item(row).toolTip()) for row in range(self.view.count())]
        if known == [(column.name, column.holds) for column in columns]:
            return
        self.view.blockSignals(True)
        self.view.clear()
        for column in columns:
            item = QListWidgetItem(f"{column.name}   ·   {column.holds}")
            item.setData(Qt.ItemDataRole.UserRole, column.name)
            item.setToolTip(column.holds)
            item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Unchecked)
            self.view.addItem(item)
        self.view.blockSignals(False)

    def open_below(self, widget: QWidget, ticked: Sequence[str]) -> None:
        """Show the list under ``widget`` with those ticked."""
        self.view.blockSignals(True)
        for row in range(self.view.count()):
            on = self._name(row) in ticked
            self.view.item(row).setCheckState(Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)
        self.view.blockSignals(False)
        self.search.clear()
        self.search.setVisible(self.view.count() >= _SEARCHED)
        rows = max(1, min(self.view.count(), _MOST_ROWS))
        self.view.setFixedHeight(rows * max(self.view.sizeHintForRow(0), 20) + 8)
        self.setFixedWidth(max(widget.width(), 240))
        self.adjustSize()
        self.move(widget.mapToGlobal(QPoint(0, widget.height() + 2)))
        self.show()
        (self.search if self.view.count() >= _SEARCHED else self.view).setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape):
            self.hide()
        else:
            super().keyPressEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.closed.emit()

    def _name(self, row: int) -> str:
        return str(self.view.item(row).data(Qt.ItemDataRole.UserRole))

    def _find(self, text: str) -> None:
        for row in range(self.view.count()):
            self.view.item(row).setHidden(text.strip().lower() not in self._name(row).lower())

    def _on_changed(self, item: QListWidgetItem) -> None:
        self.ticked.emit(str(item.data(Qt.ItemDataRole.UserRole)), item.checkState() == Qt.CheckState.Checked)
