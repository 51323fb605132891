"""The options of a study as a form, with what is wrong beside each."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.forms.editors import NumbersEditor
from studio.forms.field_row import FieldRow
from studio.pages.studies.finders.compared import ComparedSettings
from studio.pages.studies.finders.kinds import list_options
from studio.pages.studies.finders.only_settings import OnlySettings
from studio.state.drafts.setting_specs import default_value
from studio.widgets import label, vbox
from training.config import RunConfig
from training.config.field_spec import FieldSpec
from training.errors import InputError, Problem
from training.studies.kinds import STUDY_KINDS
from training.studies.lr_range.ramp import choose_band
from training.studies.records import Kind

_LABEL_WIDTH = 130
_TWO = "Enter two numbers, the lowest and the highest rate, for example 1e-6, 1."


class OptionForm(QWidget):
    """For a study of ``kind`` of ``config``. Signals: `changed()`."""

    changed = Signal()

    def __init__(self, kind: Kind, config: RunConfig) -> None:
        super().__init__()
        self.rows: dict[str, FieldRow] = {}
        self._values: dict[str, Any] = {}
        self._config = config
        column = vbox(parent=self, spacing=0)
        for spec in list_options(kind):
            row = self.rows[spec.name] = FieldRow("", spec, _LABEL_WIDTH)
            self._values[spec.name] = default_value(spec)
            row.edited.connect(self._on_edited)
            row.reset_asked.connect(self._reset)
            if spec.name == "band" and isinstance(row.editor, NumbersEditor):
                row.editor.advice = _TWO
            column.addWidget(row)
            self._show(spec)
        taken = STUDY_KINDS[kind].options
        self.against = ComparedSettings(config) if "against" in taken else None
        self.only = OnlySettings(kind, config) if "only" in taken else None
        for part in (self.against, self.only):
            if part is not None:
                part.changed.connect(self.changed)
                column.addWidget(part)
        if not taken:
            column.addWidget(
                label("There is nothing to choose: all of it follows from the configuration.", "help", wrap=True)
            )
        column.addStretch(1)

    def words(self) -> list[str]:
        """As the command line takes them; what is usual is left out."""
        found: list[str] = []
        for name, row in self.rows.items():
            value = self._values[name]
            if value != default_value(row.spec) and value not in (None, []):
                values = value if isinstance(value, list) else [value]
                found += [
                    f"--{name.replace('_', '-')}",
                    *(f"{each:g}" if isinstance(each, float) else str(each) for each in values),
                ]
        for part in (self.against, self.only):
            found += part.words() if part is not None else []
        return found

    def find_problem(self) -> str:
        """What keeps the study from being planned, in a sentence; "" when nothing does."""
        for row in self.rows.values():
            if row.sentence:
                return f"{row.spec.title}: {row.sentence}"
        return next((part.problem for part in (self.against, self.only) if part is not None and part.problem), "")

    @Slot(str, object)
    def _on_edited(self, name: str, value: Any) -> None:
        self._values[name] = value
        row = self.rows[name]
        said = row.editor.problem() or self._judge(row.spec, value)
        row.set_problem(Problem(name, said) if said else None)
        row.set_value(value, value != default_value(row.spec))
        self.changed.emit()

    @Slot(str)
    def _reset(self, name: str) -> None:
        self._values[name] = default_value(self.rows[name].spec)
        self._show(self.rows[name].spec)
        self.changed.emit()

    def _show(self, spec: FieldSpec) -> None:
        row = self.rows[spec.name]
        row.set_value(self._values[spec.name], False)
        row.set_problem(None)

    def _judge(self, spec: FieldSpec, value: Any) -> str:
        if spec.name == "band" and value:
            return self._judge_band(value)
        if spec.editor == "int" and isinstance(value, int):
            low, high = spec.minimum or 0, spec.maximum or 0
            return "" if low <= value <= high else f"Must be from {low:,.0f} to {high:,.0f}."
        return ""

    def _judge_band(self, value: Any) -> str:
        if not isinstance(value, list) or len(value) != 2:
            return _TWO
        try:
            choose_band(self._config, value, 2)
        except InputError as error:
            said = error.message.partition(": ")[2]
            return said[:1].upper() + said[1:]
        return ""
