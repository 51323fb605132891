"""One small editor per kind of setting, all alike from outside."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QUrl
from PySide6.QtWidgets import QComboBox, QCompleter, QLineEdit, QSizePolicy, QToolButton

from studio.forms.classes_editor import ClassesEditor
from studio.forms.consent_editor import ConsentEditor
from studio.forms.duration_editor import DurationEditor
from studio.forms.editor import Editor
from studio.forms.names_editor import NamesEditor
from studio.widgets import (
    ComboBox,
    NumberEdit,
    NumberKind,
    PathEdit,
    Segmented,
    Switch,
    format_number,
    hand_keyboard_on,
    parse_number,
)
from training.config.field_spec import FieldSpec
from training.protocol.answers import Column
from training.typed_paths import expand_known_home

_NUMBER_WIDTH = 132
_LONGEST_SEGMENTS = 40  # letters that stand side by side; the edges of each choice take as much as five


class BoolEditor(Editor):
    """On or off."""

    def __init__(self, spec: FieldSpec) -> None:
        self._switch = Switch()
        self._raw: Any = None  # what a file said instead of true or false
        super().__init__(self._switch)
        self._switch.toggled.connect(self._on_toggled)

    def value(self) -> Any:
        return self._switch.isChecked() if self._raw is None else self._raw

    def _show(self, value: Any) -> None:
        self._raw = None if isinstance(value, bool) else value
        self._switch.setChecked(value is True)

    def _on_toggled(self) -> None:
        if not self._showing:
            self._raw = None
            self.edited.emit()
            self.finished.emit()


class NumberEditor(Editor):
    """One number, with its unit; Up and Down step it."""

    def __init__(self, spec: FieldSpec) -> None:
        kind: NumberKind = "int" if spec.editor == "int" else "float"
        step = _step(spec)
        self._edit = NumberEdit(
            kind,
            unit=spec.unit,
            log=spec.log_scale,
            step=step,
            minimum=_inside(spec.minimum, step, spec.exclusive_minimum and not spec.log_scale),
            maximum=_inside(spec.maximum, -step, spec.exclusive_maximum),
            optional=spec.optional,
        )
        super().__init__(self._edit)
        self._edit.setPlaceholderText(spec.placeholder)
        self._edit.setAcceptDrops(False)  # a file dropped here is meant for the page
        metrics = self._edit.fontMetrics()
        room = max(metrics.horizontalAdvance(text) for text in ("0.00000000", spec.placeholder))
        self._edit.setFixedWidth(max(_NUMBER_WIDTH, room + metrics.horizontalAdvance(spec.unit) + 34))
        self._edit.textChanged.connect(self._on_edited)
        self._edit.editingFinished.connect(self.finished)

    def value(self) -> Any:
        return self._edit.value() if self._edit.is_valid() else self._edit.text()

    def problem(self) -> str:
        return self._edit.problem()

    def _show(self, value: Any) -> None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._edit.setText(format_number(value))
        else:
            self._edit.setText("" if value is None else str(value))


def _step(spec: FieldSpec) -> float:
    if spec.editor == "int":
        # Two leading figures of the usual value: 6000 goes by 100, 64 by 1.
        return 10 ** max(0, len(str(abs(int(spec.default or 1)))) - 2)
    span = (spec.maximum if spec.maximum is not None else 2.0) - (spec.minimum or 0.0)
    return 0.05 if span <= 1 else 0.1 if span <= 10 else 5.0


def _inside(bound: float | None, step: float, exclusive: bool) -> float | None:
    return bound + step if bound is not None and exclusive else bound


class NumbersEditor(Editor):
    """A list of numbers as people write it: 128, 128. ``advice`` is said instead of what is wrong with one of them."""

    def __init__(self, spec: FieldSpec) -> None:
        self._kind: NumberKind = "int" if spec.whole else "float"
        self.advice = ""
        self._edit = QLineEdit()
        super().__init__(self._edit)
        self._edit.setPlaceholderText(spec.placeholder or "none")
        self._edit.setAcceptDrops(False)
        self._edit.setFixedWidth(200)
        self._edit.textChanged.connect(self._on_edited)
        self._edit.editingFinished.connect(self.finished)

    def value(self) -> Any:
        numbers, problem = self._parse()
        return self._edit.text() if problem else numbers

    def problem(self) -> str:
        said = self._parse()[1]
        return said and (self.advice or said)

    def _parse(self) -> tuple[list[float | int], str]:
        numbers: list[float | int] = []
        for part in re.split(r"[,;\s]+", self._edit.text().strip(" ,;()[]")):
            if not part:
                continue
            number, problem = parse_number(part, self._kind)
            if number is None:
                return [], problem
            numbers.append(number)
        return numbers, ""

    def _show(self, value: Any) -> None:
        self._edit.setText(", ".join(map(_item_text, value)) if isinstance(value, list) else str(value or ""))


def _item_text(item: Any) -> str:
    return format_number(item) if isinstance(item, int | float) and not isinstance(item, bool) else str(item)


class ChoiceEditor(Editor):
    """One of a few: side by side when short, else in a list."""

    def __init__(self, spec: FieldSpec) -> None:
        self._choices = spec.choices
        self._raw = ""  # what a file said instead of one of the choices
        self._segments: Segmented | None = None
        self._combo: ComboBox | None = None
        titles = [spec.label(choice) for choice in spec.choices]
        if 2 <= len(titles) <= 4 and sum(len(title) + 5 for title in titles) <= _LONGEST_SEGMENTS:
            self._segments = Segmented()
            for choice, title in zip(spec.choices, titles, strict=True):
                self._segments.add_option(choice, title, tooltip=choice)
            super().__init__(self._segments)
            self._segments.current_changed.connect(self._on_chosen)
            hand_keyboard_on(self, self._segments.findChildren(QToolButton)[0])
        else:
            self._combo = ComboBox()
            for row, (choice, title) in enumerate(zip(spec.choices, titles, strict=True)):
                self._combo.addItem(title, choice)
                self._combo.setItemData(row, choice, Qt.ItemDataRole.ToolTipRole)
            super().__init__(self._combo)
            self._combo.setMinimumWidth(_NUMBER_WIDTH)
            self._combo.currentIndexChanged.connect(self._on_chosen)

    def value(self) -> Any:
        if self._raw:
            return self._raw
        return (
            self._segments.current() if self._segments else str(self._combo.currentData() or "") if self._combo else ""
        )

    def describe(self, name: str, description: str) -> None:
        super().describe(name, description)
        for option in self.findChildren(QToolButton):
            option.setAccessibleName(f"{name}: {option.text()}")
            option.setAccessibleDescription(description)

    def _show(self, value: Any) -> None:
        self._raw = "" if value in self._choices else str(value)
        if self._combo:
            self._combo.setPlaceholderText(self._raw)
            self._combo.setCurrentIndex(self._choices.index(value) if value in self._choices else -1)
        elif self._segments and value in self._choices:
            self._segments.set_current(str(value))
        elif self._segments:
            for option in self._segments.findChildren(QToolButton):
                group = option.group()
                group.setExclusive(False)  # an exclusive group never lets go of its last button
                option.setChecked(False)
                group.setExclusive(True)

    def _on_chosen(self) -> None:
        if not self._showing:
            self._raw = ""
            self.edited.emit()
            self.finished.emit()


class TextEditor(Editor):
    """A line of text."""

    def __init__(self, spec: FieldSpec) -> None:
        self._optional = spec.optional
        self._edit = QLineEdit()
        super().__init__(self._edit, stretch=True)
        self._edit.setPlaceholderText(spec.placeholder)
        self._edit.setAcceptDrops(False)
        self._edit.textChanged.connect(self._on_edited)
        self._edit.editingFinished.connect(self.finished)

    def value(self) -> Any:
        return None if self._optional and not self._edit.text() else self._edit.text()

    def _show(self, value: Any) -> None:
        self._edit.setText("" if value is None else str(value))
        self._edit.setCursorPosition(0)


class SuggestEditor(Editor):
    """A line of text with a list of names to choose from; typing any part of a name finds it."""

    def __init__(self, spec: FieldSpec) -> None:
        self._optional = spec.optional
        self._combo = ComboBox()
        self._line = line = QLineEdit()
        self._combo.setLineEdit(line)
        self._combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self._combo.addItems(list(spec.suggestions))
        super().__init__(self._combo)
        completer = QCompleter(self._combo.model(), self._combo)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self._combo.setCompleter(completer)
        self._combo.setCurrentIndex(-1)
        line.setPlaceholderText(spec.placeholder)
        line.setAcceptDrops(False)
        self._combo.setMinimumWidth(_NUMBER_WIDTH)
        self._combo.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._combo.editTextChanged.connect(self._on_edited)
        self._combo.activated.connect(self.finished)
        line.editingFinished.connect(self.finished)

    def value(self) -> Any:
        text = self._combo.currentText().strip()
        return None if self._optional and not text else text

    def describe(self, name: str, description: str) -> None:
        super().describe(name, description)
        self._line.setAccessibleName(name)
        self._line.setAccessibleDescription(description)

    def set_columns(self, columns: Sequence[Column]) -> None:
        self._fill([(column.name, column.holds) for column in columns])

    def offer(self, names: Sequence[str]) -> None:
        self._fill([(name, "") for name in names])

    def _fill(self, rows: Sequence[tuple[str, str]]) -> None:
        """Suggest names, each with its tooltip."""
        if [name for name, _ in rows] == [self._combo.itemText(row) for row in range(self._combo.count())]:
            return  # a list that is open stays as it is
        value = self.value()
        self._showing = True
        self._combo.clear()
        for name, tip in rows:
            self._combo.addItem(name)
            self._combo.setItemData(self._combo.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        self._show(value)
        self._showing = False

    def _show(self, value: Any) -> None:
        text = "" if value is None else str(value)
        self._combo.setCurrentIndex(self._combo.findText(text))
        self._combo.setEditText(text)


class PathEditor(Editor):
    """A file or folder: typed, picked or dropped. Its value is absolute, because the engine works elsewhere."""

    def __init__(self, spec: FieldSpec) -> None:
        self._optional = spec.optional
        self._edit = PathEdit(spec.path or "any", title=f"Choose: {spec.title.lower()}")
        super().__init__(self._edit, stretch=True)
        self.setMaximumWidth(16777215)  # a path takes what it can get
        self._edit.set_placeholder(
            spec.placeholder or f"Choose or drop a {'file or folder' if spec.path == 'any' else spec.path}"
        )
        self._edit.path_changed.connect(self._on_edited)
        self._edit.line_edit.editingFinished.connect(self.finished)

    def value(self) -> Any:
        text = absolute_path(self._edit.path())
        return None if self._optional and not text else text

    def set_invalid(self, invalid: bool) -> None:
        self._edit.set_invalid(invalid)

    def describe(self, name: str, description: str) -> None:
        super().describe(name, description)
        self._edit.line_edit.setAccessibleDescription(description)

    def _show(self, value: Any) -> None:
        self._edit.set_path("" if value is None else str(value))


def absolute_path(text: str) -> str:
    """A path as people paste it (quoted, ~/..., file://...) as an absolute one; "" for nothing."""
    text = text.strip().strip("\"'")
    if text.startswith("file://"):
        text = QUrl(text).toLocalFile()
    # normpath and not resolve: links stay as the person named them, and no disk is touched while typing.
    known = expand_known_home(text)
    if text.startswith("~") and known == Path(text):  # a home that is not known: said of the text as it was typed
        return text
    return os.path.normpath(known.absolute()) if text else ""


def make_editor(spec: FieldSpec) -> Editor:
    """The editor that suits a setting."""
    if spec.editor == "text" and (spec.suggestions or spec.columns):
        return SuggestEditor(spec)
    if spec.classes:
        return ClassesEditor(spec)
    makers: dict[str, type[Any]] = {
        "bool": BoolEditor,
        "int": NumberEditor,
        "float": NumberEditor,
        "choice": ChoiceEditor,
        "text": TextEditor,
        "numbers": NumbersEditor,
        "names": NamesEditor,
        "path": PathEditor,
        "consent": ConsentEditor,
        "duration": DurationEditor,
        "durations": DurationEditor,
    }
    editor: Editor = makers[spec.editor](spec)
    return editor
