"""Some classes of the dataset: typed with commas, or checked in a list once the data's are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtWidgets import QLineEdit

from studio.forms.class_list import ClassList
from studio.forms.editor import Editor
from studio.theme import set_invalid
from studio.widgets import hand_keyboard_on, in_widget, vbox
from training.config.field_spec import FieldSpec
from training.config.fields import join_names, split_names
from training.config.sections.data.classes import NO_CLASS
from training.protocol.answers import ClassChoice


class ClassesEditor(Editor):
    """A line of names until ``set_classes`` tells which classes there are, then a list of check boxes."""

    def __init__(self, spec: FieldSpec) -> None:
        self._line = QLineEdit(placeholderText=spec.placeholder)
        self._line.setAcceptDrops(False)
        self.list = ClassList()
        self.list.hide()
        super().__init__(in_widget(vbox(self._line, self.list)), stretch=True)
        hand_keyboard_on(self, self._line)
        self._classes: tuple[ClassChoice, ...] = ()
        self._none = False  # the line is empty since every box was off before, which is not all of them
        self._line.textChanged.connect(self._on_edited)
        self._line.editingFinished.connect(self.finished)
        self.list.chosen.connect(self._on_chosen)

    def value(self) -> Any:
        if self._classes:
            return self.list.names()
        return list(NO_CLASS) if self._none else split_names(self._line.text())

    def problem(self) -> str:
        asks = "Check at least two classes." if self._classes else "Name at least two classes."
        return asks if self.value() == list(NO_CLASS) else ""

    def set_classes(self, classes: Sequence[ClassChoice]) -> None:
        """Offer these; none: back to the line."""
        classes = tuple(classes)
        if [(each.name, each.samples) for each in classes] == [(each.name, each.samples) for each in self._classes]:
            return
        names, had_keyboard = self.value(), self.isAncestorOf(self.window().focusWidget())
        self._classes = classes
        if classes:
            self.list.offer(classes, names if isinstance(names, list) else [])
        else:
            self.set_value(names)
        self.list.setVisible(bool(classes))
        self._line.setVisible(not classes)
        hand_keyboard_on(self, self.list if classes else self._line)
        if had_keyboard:
            self.setFocus()

    def set_invalid(self, invalid: bool) -> None:
        set_invalid(self._line, invalid)
        self.list.set_invalid(invalid)

    def describe(self, name: str, description: str) -> None:
        super().describe(name, description)
        self._line.setAccessibleName(name)
        self._line.setAccessibleDescription(description)
        self.list.describe(name, description)

    def _show(self, value: Any) -> None:
        names = [str(name) for name in value] if isinstance(value, list) else split_names(str(value or ""))
        self._none = names == list(NO_CLASS)
        self.list.set_names(names)
        self._line.setText(join_names([name for name in names if name]))
        self._line.setCursorPosition(0)

    def _on_chosen(self) -> None:
        self._on_edited()
        self.finished.emit()  # each is a step of its own to take back

    def _on_edited(self) -> None:
        if not self._showing:
            self._none = False
        super()._on_edited()
