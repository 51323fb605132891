"""The rows of a form, and what the page tells them: also those that are made only when somebody wants to see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QMenu, QWidget

from studio.forms.field_row import FieldRow
from studio.forms.kinds.chooser import KindChooser
from studio.forms.messages import with_titles
from studio.forms.study_entry import add_study_entry, make_study_button
from studio.forms.sweep_entry import add_sweep_entry, make_mark
from studio.state.drafts.draft import Draft
from studio.theme import set_property
from studio.widgets import Card
from training.config.field_spec import FieldSpec
from training.config.rules.inactive_settings import Inactive
from training.protocol.answers import Column


def tint(owner: QWidget, path: str, found: Sequence[str], current: str) -> None:
    """Tint the setting that ``owner`` shows where it is among those that were ``found``, and a little more where it is looked at."""
    set_property(owner, "found", "current" if path == current else "match" if path in found else "")


class FormRows(Card):
    """A card with a row for each setting, as far as they were made; who makes one calls ``_tell_all``.

    Signals: `study_asked(kind)`: a study of that kind is to find a setting.
    """

    study_asked = Signal(str)

    def __init__(self, draft: Draft, title: str, icon_name: str) -> None:
        super().__init__(title, icon_name)
        self._draft = draft
        self.chooser: KindChooser | None = None
        self._specs: dict[str, FieldSpec] = {}  # by path, plain ones first
        self._rows: dict[str, FieldRow] = {}  # those that were made
        self._columns: tuple[Column, ...] = ()
        self._length = (0, 0)
        self._several = False
        self._inactive: Mapping[str, Inactive] = {}
        self._found: Sequence[str] = ()
        self._current = ""
        self._swept: set[str] = set()  # whose rows are marked
        draft.swept.changed.connect(self._mark_swept)

    def find_row(self, path: str) -> FieldRow | None:
        """The row of a setting; None where it was not made yet, and is told all when it is."""
        return self._rows.get(path)

    def settings(self) -> dict[str, FieldSpec]:
        """The settings that stand in this form, by path."""
        return self._specs | {path: row.spec for path, row in self._rows.items()}

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Offer the columns of the dataset's table wherever a setting names some."""
        self._columns = tuple(columns)
        for row in self._rows.values():
            if row.spec.columns:
                row.editor.set_columns(self._columns)

    def set_length(self, total_steps: int, steps_per_epoch: int) -> None:
        """Tell settings that are stretches of the run how long it is; 0 steps while that is not known."""
        self._length = (total_steps, steps_per_epoch)
        for row in self._rows.values():
            row.editor.set_length(total_steps, steps_per_epoch)

    def suggest_several(self, several: bool) -> None:
        """Whether the task wants several columns where a setting mostly names one."""
        self._several = several
        for row in self._rows.values():
            row.editor.suggest_several(several)

    def set_inactive(self, found: Mapping[str, Inactive]) -> None:
        """Say of the settings in ``found``, by path, that they do nothing as the others stand."""
        self._inactive = found
        for row in self._rows.values():
            self._tell_inactive(row)

    def _tell_inactive(self, row: FieldRow) -> None:
        inactive = self._inactive.get(row.path, Inactive(""))
        row.set_inactive(replace(inactive, why=with_titles(inactive.why, self._draft.kind)))

    def mark_found(self, found: Sequence[str], current: str) -> None:
        """Tint the settings that were found, by path, and the one looked at a little more."""
        self._found, self._current = found, current
        for path, row in self._rows.items():
            self._tint(path, row)
        if self.chooser:
            self._tint(self.chooser.path, self.chooser)

    def _open_menu(self, path: str, at: QPoint) -> None:
        """What can be done with a setting besides editing it."""
        menu = QMenu(self)
        menu.aboutToHide.connect(menu.deleteLater)
        add_study_entry(menu, self.study_asked.emit, path)
        add_sweep_entry(menu, self._draft, path)
        menu.popup(at)

    def _mark_swept(self) -> None:
        """Show which settings the sweep being prepared varies."""
        rows: dict[str, FieldRow | KindChooser] = {**self._rows}
        if self.chooser:
            rows[self.chooser.path] = self.chooser
        for path, row in rows.items():
            self._tell_swept(path, row)

    def _tell_swept(self, path: str, row: FieldRow | KindChooser) -> None:
        is_in = path in self._draft.swept
        if is_in != (path in self._swept):
            (self._swept.add if is_in else self._swept.discard)(path)
            row.set_mark(make_mark(self._draft, path, row.title.text()) if is_in else None)

    def _tint(self, path: str, owner: QWidget) -> None:
        tint(owner, path, self._found, self._current)

    def _tell_all(self, row: FieldRow) -> None:
        """What the others were told before ``row`` was made."""
        if row.spec.columns:
            row.editor.set_columns(self._columns)
        row.editor.set_length(*self._length)
        row.editor.suggest_several(self._several)
        self._tell_inactive(row)
        self._tint(row.path, row)
        row.menu_asked.connect(self._open_menu)
        if way := make_study_button(self.study_asked.emit, row.path):
            row.set_way(way)
        self._swept.discard(row.path)  # a row of that path may have gone
        self._tell_swept(row.path, row)
