"""The form of one section: kind, settings, and the advanced ones folded away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from studio.forms.field_row import FieldRow
from studio.forms.fold import Fold
from studio.forms.form_rows import FormRows
from studio.forms.kinds.chooser import KindChooser, make_chooser
from studio.forms.messages import with_titles
from studio.forms.waiting import is_waiting
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import RUN, join_path, kinds, specs, split_path, table_key, table_specs
from studio.widgets import in_widget, take_keyboard, vbox
from training.config.field_spec import FieldSpec
from training.config.run import RunConfig
from training.errors import Problem

LABEL_WIDTH = 138


class SectionForm(FormRows):
    """Shows and edits one section of the draft. ``only`` limits it to some settings (of those above all sections);
    ``bare`` leaves out frame and heading. The rows of advanced settings, two thirds of all, are made when one of them is to be seen
    or is wrong.

    Signals: `rebuilt()` when there are other rows, or more.
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
        super().__init__(draft, "" if bare else self.heading, icon_name)
        self.section = section
        self._label_width = label_width
        self._only = only
        self._shown_kind: str | None = None
        self.body.setSpacing(2)
        if bare:
            self.setProperty("bare", True)
            self.setContentsMargins(0, 0, 0, 0)
            layout = self.layout()
            assert layout is not None
            layout.setContentsMargins(0, 0, 0, 0)
        if len(kinds(section)) > 1:
            self.chooser = make_chooser(draft, section, label_width)
            self.chooser.menu_asked.connect(self._open_menu)
            self.add(self.chooser)
        self._plain, self._tables = in_widget(vbox(spacing=2)), in_widget(vbox(spacing=2))
        self._advanced = Fold(self.heading)
        self._advanced.toggled.connect(self._on_fold_toggled)
        self.add(self._plain, self._tables, self._advanced)
        draft.edited.connect(self._on_edited)
        draft.kind_changed.connect(self._on_kind_changed)
        draft.replaced.connect(self.refresh)
        draft.problems_changed.connect(self._show_problems)
        draft.touched.demanded.connect(self._show_problems)
        draft.looked_again.connect(self._follow)  # a file that decides rows may have been edited elsewhere
        self.refresh()
        self._mark_swept()

    # ------------------------------------------------------------------------------------------- reading

    def rows(self) -> Mapping[str, FieldRow]:
        """All rows by path, plain ones first."""
        self._make_folded()
        return self._rows

    def knows(self, path: str) -> bool:
        """Whether the setting (or a part of it: "model.channels.1") stands in this form."""
        stem = self.stem(path)
        return stem in self._specs or stem in self._rows or (self.chooser is not None and stem == self.chooser.path)

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
        yield self._advanced.button
        for row in self._rows.values():
            if row.spec.advanced:
                yield from row.focus_widgets()

    # ------------------------------------------------------------------------------------------- showing

    def refresh(self) -> None:
        """Take everything from the draft again."""
        kind = self._draft.kind(self.section)
        if self.chooser:
            self.chooser.set_kind(kind)
        if self._is_outdated():
            self._rebuild(kind)
        self._follow()
        for path, row in self._rows.items():
            row.set_value(self._draft.value(path), self._draft.is_changed(path))
        self._show_problems()

    def reveal(self, path: str) -> QWidget | None:
        """Unfold what hides a setting, give it the keyboard, and return its widget."""
        owner = self._owner(path)
        if isinstance(owner, FieldRow):
            if owner.spec.advanced:
                self._advanced.open()
            owner.editor.setFocus()
        elif owner is not None:
            owner.setFocus()
        return owner

    def unfold_for(self, path: str) -> None:
        """Show a setting without moving the keyboard."""
        if path in self._specs and self._specs[path].advanced:
            self._advanced.open()

    def _rebuild(self, kind: str) -> None:
        take_keyboard(self, self._rows.values())
        for row in self._rows.values():
            row.hide()
            row.deleteLater()
        self._advanced.empty()
        self._shown_kind = kind
        wanted = [
            spec
            for spec in specs(self.section, kind).values()
            if spec.editor != "table" and (not self._only or spec.name in self._only)
        ]
        # Stable: groups stay in the order in which they are declared, behind what belongs to none.
        wanted.sort(key=lambda spec: (spec.advanced, bool(spec.group)))
        self._specs = {join_path(self.section, spec.name): spec for spec in wanted}
        self._rows = {}
        for spec in wanted:
            if not spec.advanced:
                _append(self._plain, self._add_row(spec))
        self._plain.setVisible(bool(self._rows))
        self._advanced.setVisible(any(spec.advanced for spec in wanted))
        if self._advanced.is_open:
            self._make_folded()
        self.rebuilt.emit()

    def _make_folded(self) -> None:
        """Make the rows of the advanced settings where there are none yet."""
        folded = [spec for path, spec in self._specs.items() if path not in self._rows]
        if not folded or self._is_outdated():
            return
        for spec in folded:
            row = self._add_row(spec)
            self._advanced.add(row, spec)
            row.set_value(self._draft.value(row.path), self._draft.is_changed(row.path))
        self._follow()
        self._show_problems()
        self.rebuilt.emit()

    def _is_outdated(self) -> bool:
        """Whether the draft has another kind already, of which this form is about to hear."""
        return self._draft.kind(self.section) != self._shown_kind

    def _add_row(self, spec: FieldSpec) -> FieldRow:
        row = FieldRow(self.section, spec, self._label_width)
        row.edited.connect(self._draft.set)
        row.reset_asked.connect(self._draft.reset)
        row.fix_asked.connect(self._draft.apply)
        row.finished.connect(self._draft.finish_edit)
        if spec.consent:
            row.finished.connect(self._draft.recheck)  # the consent itself is kept elsewhere
        self._tell_all(row)
        self._rows[row.path] = row
        return row

    def _follow(self) -> None:
        """Show the rows of tables as the section's other settings have them now, and tell editors of those."""
        if self.section == RUN:
            return
        inside = {path: row for path, row in self._rows.items() if table_key(path)}
        values = {spec.name: self._draft.value(path) for path, spec in self._specs.items()}
        wanted = table_specs(self.section, self._draft.kind(self.section), values)
        if [row.spec for row in inside.values()] != list(wanted.values()):
            for path, row in inside.items():
                del self._rows[path]
                row.hide()
                row.deleteLater()
            for spec in wanted.values():
                row = self._add_row(spec)
                _append(self._tables, row)
                row.set_value(self._draft.value(row.path), self._draft.is_changed(row.path))
            self.rebuilt.emit()
        self._tables.setVisible(bool(wanted))
        for row in self._rows.values():
            row.editor.follow(values)

    def _show_problems(self) -> None:
        if self._is_outdated():
            return
        first: dict[str, Problem] = {}
        for problem in self._draft.problems():
            first.setdefault(self.stem(problem.path), problem)
        if any(path in self._specs and path not in self._rows for path in first):
            self._make_folded()  # and says what is wrong
            return
        for path, row in self._rows.items():
            wrong = first.get(path)
            told = wrong and replace(wrong, message=with_titles(wrong.message, self._draft.kind))
            row.set_problem(told, waits=wrong is not None and is_waiting(self._draft, wrong))
        if self.chooser:
            self.chooser.set_problem(first.get(self.chooser.path))
        self._name_fold()

    def _name_fold(self) -> None:
        advanced = {path: spec for path, spec in self._specs.items() if spec.advanced}
        changed = sum(self._draft.is_changed(path) and not spec.required for path, spec in advanced.items())
        wrong = sum(bool(row.sentence) for path, row in self._rows.items() if path in advanced)
        self._advanced.tell(changed, wrong)

    def _owner(self, path: str) -> FieldRow | KindChooser | None:
        stem = self.stem(path)
        if self.chooser and stem == self.chooser.path:
            return self.chooser
        if stem in self._specs and stem not in self._rows:
            self._make_folded()
        return self._rows.get(stem)

    def stem(self, path: str) -> str:
        """The setting whose row shows ``path``: "model.channels.1" -> "model.channels"; a setting inside a table has a row of its own."""
        return path if path in self._rows or path in self._specs else join_path(*split_path(path))

    def _on_edited(self, path: str) -> None:
        if path.partition(".")[0] == self.section:
            self._follow()
        row = self._rows.get(path)
        if row:
            row.set_value(self._draft.value(path), self._draft.is_changed(path))
        if row or path in self._specs:
            self._show_problems()

    def _on_kind_changed(self, section: str) -> None:
        if section == self.section:
            self.refresh()

    def _on_fold_toggled(self, unfolded: bool) -> None:
        if unfolded:
            self._make_folded()
        self._name_fold()


def _append(holder: QWidget, part: QWidget) -> None:
    layout = holder.layout()
    assert layout is not None
    layout.addWidget(part)
