"""The settings that the sweep being prepared varies: a row for each, and a line that finds others."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot

from studio.forms.messages import KIND_TITLES
from studio.forms.sweep_entry import fitting_kinds, sweep_setting
from studio.pages.studies.sweeps.dimension_row import DimensionRow
from studio.pages.studies.sweeps.setting_search import SettingSearch
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import split_path
from studio.widgets import Card, label, vbox
from training.config.field_spec import FieldSpec

_EMPTY = "Nothing yet. Add a setting above, or choose “Sweep this setting” from its menu on Setup."


class VariedCard(Card):
    """Signals: `edited()` while somebody types; `changed()` when there are other rows."""

    edited, changed = Signal(), Signal()

    def __init__(self, draft: Draft) -> None:
        super().__init__("What is varied")
        self._draft = draft
        self.rows: dict[str, DimensionRow] = {}
        self.search = SettingSearch(draft)
        self._empty = label(_EMPTY, "help", wrap=True)
        self._column = vbox(spacing=0)
        self.add(self.search, self._empty, self._column)
        self.search.chosen.connect(lambda path: sweep_setting(draft, path))
        draft.swept.changed.connect(self._list_rows)
        self._list_rows()

    @property
    def vary(self) -> tuple[str, ...]:
        """As ``--vary`` takes it."""
        return tuple(f"{path}={row.text()}" for path, row in self.rows.items())

    def tell_gaps(self) -> bool:
        """Have each row say what is missing in it, and nothing else; whether all is there, and something is varied."""
        gaps = [row.gap() for row in self.rows.values()]
        for row, gap in zip(self.rows.values(), gaps, strict=True):
            row.set_problem(gap)
        return bool(gaps) and not any(gaps)

    def set_grid(self, on: bool) -> None:
        """Whether a grid asks how many values it is to take of a range."""
        for path, row in self.rows.items():
            spec = self._find_spec(path)
            row.set_grid(on, spec is not None and spec.editor in ("int", "duration"))

    @Slot()
    def _list_rows(self) -> None:
        wanted = self._draft.swept.texts
        for path in [path for path in self.rows if path not in wanted]:
            self.rows.pop(path).deleteLater()
        for path, text in wanted.items():
            if path not in self.rows:
                row = self.rows[path] = self._make_row(path, text)
                row.edited.connect(self._on_edited)
                row.removed.connect(self._draft.swept.take_out)
                self._column.addWidget(row)
        self._empty.setVisible(not self.rows)
        self.search.offer()
        self.changed.emit()

    def _make_row(self, path: str, text: str) -> DimensionRow:
        section, name = split_path(path)
        if name == "kind":
            return DimensionRow(path, KIND_TITLES[section], text, fitting_kinds(self._draft, section), False, False)
        spec = self._find_spec(path)
        if spec is None:
            return DimensionRow(path, path, text, (), True, False)
        choices = ("false", "true") if spec.editor == "bool" else spec.choices
        is_number = spec.editor in ("int", "float", "duration")
        return DimensionRow(path, spec.title, text, choices, is_number, spec.log_scale)

    def _find_spec(self, path: str) -> FieldSpec | None:
        """None for a section's kind, and where the draft has another kind since, without that setting."""
        try:
            return self._draft.spec(path)
        except KeyError:
            return None

    @Slot(str)
    def _on_edited(self, path: str) -> None:
        self._draft.swept.write(path, self.rows[path].text())
        self.edited.emit()
