"""A form made from the columns that a model takes: what is filled in is answered at once."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QGridLayout, QLineEdit, QWidget

from studio.theme import SPACING
from studio.widgets import Card, ComboBox, button, empty, in_widget, label
from training.protocol.model_answers import InputColumn, ModelDescription
from training.system.untrusted import escape_unprintable

MOST_FIELDS = 100
_PAUSE = 150  # milliseconds of no change before the model is asked
_UNKNOWN = "(not known)"


class RowForm(Card):
    """Signals: ``changed()`` a moment after the person changed a value; ``table_wanted()``."""

    changed = Signal()
    table_wanted = Signal()

    def __init__(self) -> None:
        super().__init__("Row", "table")
        self._fields: dict[str, QLineEdit | ComboBox] = {}
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(SPACING.m)
        self._grid.setVerticalSpacing(SPACING.s)
        self._grid.setColumnStretch(1, 1)
        self._timer = QTimer(self, singleShot=True, interval=_PAUSE)
        self._timer.timeout.connect(self.changed)
        self.from_table = button("Open table …", "folder", tooltip="Ask for all rows of a CSV or Parquet file")
        self.from_table.clicked.connect(self.table_wanted)
        self.add_action(self.from_table)
        self.add(in_widget(self._grid))

    def show_columns(self, description: ModelDescription) -> None:
        """Fields for another model, filled with a usual row."""
        empty(self._grid)
        self._fields = {}
        columns = description.columns
        single = description.layout == "vector" and len(columns) <= MOST_FIELDS
        if description.layout == "list":
            self.set_subtitle("The rows of a query are ranked together: open a table, or drop it here.")
        elif not single:
            self.set_subtitle(f"A row has {len(columns):,} columns: open a table, or drop it here.")
        else:
            self.set_subtitle("An empty field is a value that is not known. A table can be dropped here as well.")
        for number, column in enumerate(columns if single else ()):
            self._add_field(number, column)

    def row(self) -> dict[str, str]:
        """What is filled in, "" where nothing is."""
        return {name: _value_of(field) for name, field in self._fields.items()}

    def fill(self, row: dict[str, str]) -> None:
        """Put values into some of the fields; it is told as a change."""
        for name, text in row.items():
            field = self._fields.get(name)
            if isinstance(field, QLineEdit):
                field.setText(text)

    def _add_field(self, number: int, column: InputColumn) -> None:
        shown = escape_unprintable(column.name, 60)
        name = label(shown)
        field = _make_combo(column) if column.categories is not None else _make_line(column)
        field.setAccessibleName(shown)
        name.setBuddy(field)
        hint = label(_tell_range(column), "caption")
        self._grid.addWidget(name, number, 0)
        self._grid.addWidget(field, number, 1)
        self._grid.addWidget(hint, number, 2)
        self._fields[column.name] = field
        if isinstance(field, QLineEdit):
            field.textChanged.connect(self._on_changed)
        else:
            field.currentIndexChanged.connect(self._on_changed)

    @Slot()
    def _on_changed(self) -> None:
        self._timer.start()


def _make_combo(column: InputColumn) -> ComboBox:
    field = ComboBox()
    for text in column.categories or ():
        field.addItem(escape_unprintable(text, 100), text)
    field.addItem(_UNKNOWN, "")
    return field


def _make_line(column: InputColumn) -> QLineEdit:
    return QLineEdit("" if column.middle is None else f"{column.middle:.4g}")


def _value_of(field: QWidget) -> str:
    if isinstance(field, ComboBox):
        return str(field.currentData() or "")
    assert isinstance(field, QLineEdit)
    return field.text().strip()


def _tell_range(column: InputColumn) -> str:
    if column.low is None or column.high is None:
        return ""
    return f"mostly {column.low:.3g} to {column.high:.3g}"
