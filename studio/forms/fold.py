"""The advanced settings of a form, behind a button that tells what is in there."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QLabel, QWidget

from studio.forms.field_row import TITLE_INDENT
from studio.theme import SPACING, icon
from studio.widgets import button, in_widget, label, vbox
from training.config.field_spec import FieldSpec


class Fold(QWidget):
    """Signals: `toggled(bool)` when it is opened or closed."""

    toggled = Signal(bool)

    def __init__(self, form: str) -> None:
        """``form`` is its heading: several of a page have one of these."""
        super().__init__()
        self._form = form
        self.button = button("", "chevron-right", "ghost")
        self.button.setProperty("fold", True)
        self.button.setIconSize(QSize(14, 14))
        self.button.setCheckable(True)
        self._headings: list[QLabel] = []
        self._column = vbox(spacing=2)
        self._rows = in_widget(self._column)
        self._rows.hide()
        vbox(self.button, self._rows, parent=self, spacing=2)
        self.button.toggled.connect(self._on_toggled)

    @property
    def is_open(self) -> bool:
        """Whether the rows can be seen."""
        return self.button.isChecked()

    def open(self) -> None:
        """Let the rows be seen."""
        self.button.setChecked(True)

    def empty(self) -> None:
        """Take away the headings; the rows belong to the form."""
        for heading in self._headings:
            heading.hide()
            heading.deleteLater()
        self._headings.clear()

    def add(self, row: QWidget, spec: FieldSpec) -> None:
        """Append a row, under the heading of its group."""
        if spec.group not in ("", *(heading.text() for heading in self._headings)):
            heading = label(spec.group, "caption")
            heading.setContentsMargins(TITLE_INDENT, SPACING.s, 0, 0)
            self._headings.append(heading)
            self._column.addWidget(heading)
        self._column.addWidget(row)

    def tell(self, changed: int, wrong: int) -> None:
        """Say on the button how many settings differ from their default, and how many are wrong."""
        notes = [f"{changed} changed"] if changed else []
        notes += [f"{wrong} need{'s' if wrong == 1 else ''} attention"] if wrong else []
        self.button.setText(f"Advanced ({', '.join(notes)})" if notes else "Advanced")
        self.button.setAccessibleName(f"{self._form}: {self.button.text()}")
        self.button.setIcon(icon("chevron-down" if self.is_open else "chevron-right", "muted"))

    def _on_toggled(self, is_open: bool) -> None:
        self.toggled.emit(is_open)  # the form makes the rows before they are shown
        self._rows.setVisible(is_open)
