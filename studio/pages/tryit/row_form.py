"""A form made from the columns that a model takes: what is filled in is answered at once."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QWidget

from studio.theme import SPACING, set_role
from studio.widgets import Card, ComboBox, button, chain_tab_order, empty, in_widget, label
from training.core.readers.cell_reading import parse_moment, parse_number
from training.facts import lies_outside, show_span
from training.protocol.model_answers import InputColumn, ModelDescription, PickedRow
from training.system.untrusted import escape_unprintable

MOST_FIELDS = 100
_PAUSE = 150  # milliseconds of no change before the model is asked
_UNKNOWN = "(not known)"


class RowForm(Card):
    """Signals: ``changed()`` a moment after the person changed a value; ``table_wanted()``; ``example_wanted(place)`` a row of the data,
    another one each time."""

    changed = Signal()
    example_wanted = Signal(int)
    table_wanted = Signal()

    def __init__(self) -> None:
        super().__init__("Row", "table")
        self._fields: dict[str, QLineEdit | ComboBox] = {}
        self._hints: dict[str, QLabel] = {}
        self._columns: dict[str, InputColumn] = {}
        self._written = ("", ".")
        self._picked = 0
        self._example: dict[str, str] = {}
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(SPACING.m)
        self._grid.setVerticalSpacing(SPACING.s)
        self._grid.setColumnStretch(1, 2)
        self._grid.setColumnStretch(2, 1)
        self._timer = QTimer(self, singleShot=True, interval=_PAUSE)
        self._timer.timeout.connect(self.changed)
        self.from_table = button("Open table …", "folder", tooltip="Ask for all rows of a CSV or Parquet file")
        self.from_table.clicked.connect(self.table_wanted)
        self.example = button("Row of the data", "table", tooltip="Fill in the next row of the validation part")
        self.example.clicked.connect(self._on_example)
        self.add_action(self.example)
        self.add_action(self.from_table)
        self.truth = label("", "help", wrap=True)
        self.add(self.truth, in_widget(self._grid))

    def show_columns(self, description: ModelDescription) -> None:
        """Fields for another model, filled with a usual row."""
        empty(self._grid)
        self._fields, self._hints, self._picked = {}, {}, 0
        self._columns = {column.name: column for column in description.columns}
        self._written = description.thousands, description.decimal
        columns = description.columns
        single = description.layout == "vector" and len(columns) <= MOST_FIELDS
        self.example.setVisible(single and not description.is_export)
        self.truth.hide()
        if description.layout == "list":
            self.set_subtitle("The rows of a query are ranked together: open a table, or drop it here.")
        elif not single:
            self.set_subtitle(f"A row has {len(columns):,} columns: open a table, or drop it here.")
        else:
            self.set_subtitle("An empty field is a value that is not known. A table can be dropped here as well.")
        for number, column in enumerate(columns if single else ()):
            self._add_field(number, column)
        # Widgets that are made later come last in the window.
        chain_tab_order([self.example, self.from_table, *self._fields.values()])

    def row(self) -> dict[str, str]:
        """What is filled in, "" where nothing is."""
        return {name: _value_of(field) for name, field in self._fields.items()}

    def fill(self, row: dict[str, str]) -> None:
        """Put values into some of the fields; it is told as a change."""
        for name, text in row.items():
            field = self._fields.get(name)
            if isinstance(field, QLineEdit):
                field.setText(text)
            elif field is not None:
                known = field.findData(text)
                field.setCurrentIndex(known if known >= 0 else field.findData(""))

    def show_example(self, picked: PickedRow) -> None:
        """Fill in a row of the data, and say what is true of it."""
        self.fill(picked.row)
        self._example = self.row()
        words = f"{picked.name}: {picked.truth}." if picked.truth else f"{picked.name}."
        self.truth.setText(escape_unprintable(words[:1].upper() + words[1:], 300))
        self.truth.show()

    @Slot()
    def _on_example(self) -> None:
        self.example_wanted.emit(self._picked)
        self._picked += 1

    def _add_field(self, number: int, column: InputColumn) -> None:
        shown = escape_unprintable(column.name, 60)
        name = label(shown)
        field = _make_combo(column) if column.categories is not None else _make_line(column, self._written[1])
        field.setAccessibleName(shown)
        name.setBuddy(field)
        hint = label("", "caption", wrap=True)
        self._grid.addWidget(name, number, 0)
        self._grid.addWidget(field, number, 1)
        self._grid.addWidget(hint, number, 2)
        self._fields[column.name], self._hints[column.name] = field, hint
        self._tell_range(column.name)
        if isinstance(field, QLineEdit):
            field.textChanged.connect(self._on_changed)
        else:
            field.currentIndexChanged.connect(self._on_changed)

    def _tell_range(self, name: str) -> None:
        """Beside a field: the range of the training rows, and whether the value lies in it."""
        column, field, hint = self._columns[name], self._fields[name], self._hints[name]
        words, outside = describe_range(column, *self._written), self._is_outside(column, _value_of(field))
        set_role(hint, "problem" if outside else "caption")
        hint.setText(f"outside of the training rows ({words})" if outside else words)

    def _is_outside(self, column: InputColumn, text: str) -> bool:
        """Whether ``text`` is a number or a date that lies outside of the training rows."""
        if column.low is not None and column.high is not None:
            number = parse_number(text, *self._written)
            return number is not None and lies_outside(number, (column.low, column.high))
        first, moment, last = (parse_moment(each, column.form) for each in (column.first, text, column.last))
        return first is not None and moment is not None and last is not None and not first <= moment <= last

    @Slot()
    def _on_changed(self) -> None:
        for name in self._fields:
            self._tell_range(name)
        if self.row() != self._example:
            self.truth.hide()  # the person made another row of it
        self._timer.start()


def _make_combo(column: InputColumn) -> ComboBox:
    field = ComboBox()
    for text in column.categories or ():
        field.addItem(escape_unprintable(text, 100), text)
    field.addItem(_UNKNOWN, "")
    return field


def _make_line(column: InputColumn, decimal: str) -> QLineEdit:
    if column.middle is None:
        return QLineEdit(column.last)
    return QLineEdit(f"{column.middle:.4g}".replace(".", decimal))


def _value_of(field: QWidget) -> str:
    if isinstance(field, ComboBox):
        return str(field.currentData() or "")
    assert isinstance(field, QLineEdit)
    return field.text().strip()


def describe_range(column: InputColumn, thousands: str, decimal: str) -> str:
    """What the training rows hold in ``column``: numbers as its field takes them."""
    if column.low is not None and column.high is not None:
        return show_span((column.low, column.high)).translate({ord(","): thousands, ord("."): decimal})
    if column.first and column.last:
        return f"{column.first} to {column.last}"
    if column.holds in ("date", "text"):
        return {"date": "a time of day", "text": "any text"}[column.holds]
    if column.middle is not None and column.std is not None:
        return f"mean {column.middle:.3g}, std {column.std:.3g}"
    return ""
