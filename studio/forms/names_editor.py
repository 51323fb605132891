"""Several names: typed with commas, or ticked in a list where the dataset's columns are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtWidgets import QLineEdit

from studio.forms.column_list import ColumnList
from studio.forms.editor import Editor
from studio.theme import SPACING, set_invalid
from studio.widgets import hand_keyboard_on, hbox, icon_button, in_widget
from training.config.field_spec import FieldSpec
from training.config.fields import join_names, split_names
from training.protocol.answers import Column


class NamesEditor(Editor):
    """A line of names; beside it, for settings that name columns, a button that opens the list of them."""

    def __init__(self, spec: FieldSpec) -> None:
        self._edit = QLineEdit(placeholderText=spec.placeholder or "none")
        self._edit.setAcceptDrops(False)
        self.choose_button = icon_button("list", "Choose columns", clicked=self._open)
        holder = in_widget(hbox((self._edit, 1), self.choose_button, spacing=SPACING.xs))
        super().__init__(holder, stretch=True)
        hand_keyboard_on(self, self._edit)
        self.list = ColumnList(self, f"Several {spec.title.lower()}s" if spec.mostly_one else "")
        self.choose_button.setVisible(False)
        self.list.ticked.connect(self._on_ticked)
        self.list.closed.connect(self.finished)
        self._edit.textChanged.connect(self._on_edited)
        self._edit.editingFinished.connect(self.finished)
        self._offers_columns = spec.columns

    def value(self) -> Any:
        return split_names(self._edit.text())

    def set_columns(self, columns: Sequence[Column]) -> None:
        self.list.set_columns(columns)
        self.choose_button.setVisible(self._offers_columns and bool(columns))

    def suggest_several(self, several: bool) -> None:
        self.list.suggest_several(several)

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
        self.list.open_beside(self, names if isinstance(names, list) else [])

    def _on_ticked(self, name: str, on: bool) -> None:
        names = self.value()
        kept = [known for known in names if known != name] if isinstance(names, list) and self.list.several else []
        self._edit.setText(join_names([*kept, name] if on else kept))
        self._edit.setCursorPosition(0)
