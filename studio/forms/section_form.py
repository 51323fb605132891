"""The form of one section: kind, settings, and the advanced ones folded away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QLabel, QWidget

from studio.forms.field_row import TITLE_INDENT, FieldRow
from studio.forms.kinds.chooser import KindChooser, make_chooser
from studio.forms.messages import with_titles
from studio.forms.waiting import is_waiting
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import RUN, join_path, kinds, specs, split_path, table_key, table_specs
from studio.theme import SPACING, icon
from studio.widgets import Card, button, in_widget, label, take_keyboard, vbox
from training.config.field_spec import FieldSpec
from training.config.rules.inactive_settings import Inactive
from training.config.run import RunConfig
from training.errors import Problem
from training.protocol.answers import Column

LABEL_WIDTH = 138


class SectionForm(Card):
    """Shows and edits one section of the draft. ``only`` limits it to some settings (of those above all sections);
    ``bare`` leaves out frame and heading.

    Signals: `rebuilt()` when the rows are other ones (another kind).
    """

    rebuilt = Signal()

    def __init__(
        self,
        draft: Draft,
        section: str,
        *,
        title: str = "",
        icon_name: str = "",
        only: tuple[str, ...] = (),
        label_width: int = LABEL_WIDTH,
        bare: bool = False,
    ) -> None:
        self.heading = title or str(RunConfig.model_fields[section].title)
        super().__init__("" if bare else self.heading, icon_name)
        self.section = section
        self._label_width = label_width
        self._draft = draft
        self._only = only
        self._shown_kind: str | None = None
        self._rows: dict[str, FieldRow] = {}
        self._columns: tuple[Column, ...] = ()
        self._headings: list[QLabel] = []
        self.chooser: KindChooser | None = None
        self.body.setSpacing(2)
        if bare:
            self.setProperty("bare", True)
            self.setContentsMargins(0, 0, 0, 0)
            layout = self.layout()
            assert layout is not None
            layout.setContentsMargins(0, 0, 0, 0)
        if len(kinds(section)) > 1:
            self.chooser = make_chooser(draft, section, label_width)
            self.add(self.chooser)
        self._plain, self._tables, self._advanced = (in_widget(vbox(spacing=2)) for _ in range(3))
        self._more = button("Advanced", "chevron-right", "ghost")
        self._more.setProperty("fold", True)
        self._more.setIconSize(QSize(14, 14))
        self._more.setCheckable(True)
        self._more.toggled.connect(self._on_fold_toggled)
        self._advanced.hide()
        self.add(self._plain, self._tables, self._more, self._advanced)
        draft.edited.connect(self._on_edited)
        draft.kind_changed.connect(self._on_kind_changed)
        draft.replaced.connect(self.refresh)
        draft.problems_changed.connect(self._show_problems)
        draft.touched.demanded.connect(self._show_problems)
        draft.looked_again.connect(self._follow)  # a file that decides rows may have been edited elsewhere
        self.refresh()

    # ------------------------------------------------------------------------------------------- reading

    def rows(self) -> Mapping[str, FieldRow]:
        """The rows by path, plain ones first."""
        return self._rows

    def knows(self, path: str) -> bool:
        """Whether the setting (or a part of it: "model.channels.1") stands in this form."""
        return self._owner(path) is not None

    def sentence(self, path: str) -> tuple[str, str]:
        """(title, sentence) of what is wrong with a setting, as the form says it."""
        owner = self._owner(path)
        if isinstance(owner, FieldRow):
            return owner.spec.title, owner.sentence
        return (owner.title.text(), owner.sentence) if owner else (self.heading, "")

    def row_of(self, path: str) -> QWidget | None:
        """The widget to scroll to for a setting."""
        return self._owner(path)

    def focus_widgets(self) -> Iterator[QWidget]:
        """What Tab visits, in order."""
        if self.chooser:
            yield from self.chooser.focus_widgets()
        for row in self._rows.values():
            if not row.spec.advanced:
                yield from row.focus_widgets()
        yield self._more
        for row in self._rows.values():
            if row.spec.advanced:
                yield from row.focus_widgets()

    # ------------------------------------------------------------------------------------------- showing

    def refresh(self) -> None:
        """Take everything from the draft again."""
        kind = self._draft.kind(self.section)
        if self.chooser:
            self.chooser.set_kind(kind)
        if kind != self._shown_kind:
            self._rebuild(kind)
        self._follow()
        for path, row in self._rows.items():
            row.set_value(self._draft.value(path), self._draft.is_changed(path))
        self._show_problems()

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Offer the columns of the dataset's table wherever a setting names some."""
        self._columns = tuple(columns)
        for row in self._rows.values():
            if row.spec.columns:
                row.editor.set_columns(self._columns)

    def set_length(self, total_steps: int, steps_per_epoch: int) -> None:
        """Tell settings that are stretches of the run how long it is; 0 steps while that is not known."""
        for row in self._rows.values():
            row.editor.set_length(total_steps, steps_per_epoch)

    def suggest_several(self, several: bool) -> None:
        """Whether the task wants several columns where a setting mostly names one."""
        for row in self._rows.values():
            row.editor.suggest_several(several)

    def set_inactive(self, found: Mapping[str, Inactive]) -> None:
        """Say of the settings in ``found``, by path, that they do nothing as the others stand."""
        for path, row in self._rows.items():
            inactive = found.get(path, Inactive(""))
            row.set_inactive(replace(inactive, why=with_titles(inactive.why, self._draft.kind)))

    def reveal(self, path: str) -> QWidget | None:
        """Unfold what hides a setting, give it the keyboard, and return its widget."""
        owner = self._owner(path)
        if isinstance(owner, FieldRow):
            if owner.spec.advanced:
                self._more.setChecked(True)
            owner.editor.setFocus()
        elif owner is not None:
            owner.setFocus()
        return owner

    def unfold_for(self, path: str) -> None:
        """Show a setting without moving the keyboard."""
        row = self._rows.get(path)
        if row and row.spec.advanced:
            self._more.setChecked(True)

    def _rebuild(self, kind: str) -> None:
        take_keyboard(self, self._rows.values())
        for part in (*self._rows.values(), *self._headings):
            part.hide()
            part.deleteLater()
        self._headings.clear()
        self._shown_kind = kind
        wanted = [
            spec
            for spec in specs(self.section, kind).values()
            if spec.editor != "table" and (not self._only or spec.name in self._only)
        ]
        self._rows = {}
        # Stable: groups stay in the order in which they are declared, behind what belongs to none.
        for spec in sorted(wanted, key=lambda spec: (spec.advanced, bool(spec.group))):
            if spec.advanced and spec.group not in ("", *(heading.text() for heading in self._headings)):
                self._headings.append(_heading(spec.group))
                _append(self._advanced, self._headings[-1])
            self._add_row(spec, self._advanced if spec.advanced else self._plain)
        self._plain.setVisible(any(not row.spec.advanced for row in self._rows.values()))
        self._more.setVisible(any(row.spec.advanced for row in self._rows.values()))
        self._advanced.setVisible(self._more.isChecked() and not self._more.isHidden())
        self.rebuilt.emit()

    def _add_row(self, spec: FieldSpec, column: QWidget) -> FieldRow:
        row = FieldRow(self.section, spec, self._label_width)
        row.edited.connect(self._draft.set)
        row.reset_asked.connect(self._draft.reset)
        row.fix_asked.connect(self._draft.apply)
        row.finished.connect(self._draft.finish_edit)
        if spec.consent:
            row.finished.connect(self._draft.recheck)  # the consent itself is kept elsewhere
        if spec.columns:
            row.editor.set_columns(self._columns)
        _append(column, row)
        self._rows[row.path] = row
        return row

    def _follow(self) -> None:
        """Show the rows of tables as the section's other settings have them now, and tell editors of those."""
        if self.section == RUN:
            return
        inside = {path: row for path, row in self._rows.items() if table_key(path)}
        values = {row.spec.name: self._draft.value(path) for path, row in self._rows.items() if path not in inside}
        wanted = table_specs(self.section, self._draft.kind(self.section), values)
        if [row.spec for row in inside.values()] != list(wanted.values()):
            for path, row in inside.items():
                del self._rows[path]
                row.hide()
                row.deleteLater()
            for spec in wanted.values():
                row = self._add_row(spec, self._tables)
                row.set_value(self._draft.value(row.path), self._draft.is_changed(row.path))
            self.rebuilt.emit()
        self._tables.setVisible(bool(wanted))
        for row in self._rows.values():
            row.editor.follow(values)

    def _show_problems(self) -> None:
        first: dict[str, Problem] = {}
        for problem in self._draft.problems():
            first.setdefault(self.stem(problem.path), problem)
        for path, row in self._rows.items():
            wrong = first.get(path)
            told = wrong and replace(wrong, message=with_titles(wrong.message, self._draft.kind))
            row.set_problem(told, waits=wrong is not None and is_waiting(self._draft, wrong))
        if self.chooser:
            self.chooser.set_problem(first.get(self.chooser.path))
        self._name_fold()

    def _name_fold(self) -> None:
        rows = [row for row in self._rows.values() if row.spec.advanced]
        changed = sum(row.is_changed for row in rows)
        wrong = sum(bool(row.sentence) for row in rows)
        notes = [f"{changed} changed"] if changed else []
        notes += [f"{wrong} need{'s' if wrong == 1 else ''} attention"] if wrong else []
        self._more.setText(f"Advanced ({', '.join(notes)})" if notes else "Advanced")
        self._more.setIcon(icon("chevron-down" if self._more.isChecked() else "chevron-right", "muted"))

    def _owner(self, path: str) -> FieldRow | KindChooser | None:
        stem = self.stem(path)
        if self.chooser and stem == self.chooser.path:
            return self.chooser
        return self._rows.get(stem)

    def stem(self, path: str) -> str:
        """The setting whose row shows ``path``: "model.channels.1" -> "model.channels"; a setting inside a table has a row of its own."""
        return path if path in self._rows else join_path(*split_path(path))

    def _on_edited(self, path: str) -> None:
        if path.partition(".")[0] == self.section:
            self._follow()
        row = self._rows.get(path)
        if row:
            row.set_value(self._draft.value(path), self._draft.is_changed(path))
            self._show_problems()

    def _on_kind_changed(self, section: str) -> None:
        if section == self.section:
            self.refresh()

    def _on_fold_toggled(self, unfolded: bool) -> None:
        self._advanced.setVisible(unfolded)
        self._name_fold()


def _heading(text: str) -> QLabel:
    made = label(text, "caption")
    made.setContentsMargins(TITLE_INDENT, SPACING.s, 0, 0)
    return made


def _append(holder: QWidget, part: QWidget) -> None:
    layout = holder.layout()
    assert layout is not None
    layout.addWidget(part)
