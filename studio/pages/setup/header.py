"""The head of the page: presets and files, the run's name, undo, search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QMenu, QWidget

from studio.actions.configurations import ask_and_open, ask_and_save
from studio.forms.search import SearchEdit, find_settings
from studio.forms.section_form import SectionForm
from studio.pages.setup.presets import ask_for_preset
from studio.pages.setup.where_card import WhereCard
from studio.state.context import AppContext
from studio.state.drafts.setting_specs import RUN
from studio.state.where_it_runs import PLACE, TITLE, WORDS
from studio.theme import SPACING, font, icon, set_property, theme
from studio.widgets import STRETCH, button, hbox, icon_button, vbox

_LEAST_LETTERS = 8  # of the name, beyond the few that any line has room for
_ROW_MARGIN = 3  # what a row of a form keeps free above its editor


class SetupHeader(QWidget):
    """Knows the context because its menu opens and saves. Signals: `preset_used()`."""

    preset_used = Signal()

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._draft = context.draft
        self.presets = button("Presets", "file", tooltip="Start from a preset or a file")
        set_property(self.presets, "hasMenu", True)
        self.presets.setMenu(self._menu())
        self.name_form = SectionForm(
            self._draft,
            RUN,
            title="Run",
            only=("name",),
            bare=True,
        )
        self.name_form.setMaximumWidth(420)
        self.undo = icon_button("undo", "Undo (Ctrl+Z)")
        self.redo = icon_button("redo", "Redo (Ctrl+Shift+Z or Ctrl+Y)")
        self.undo.clicked.connect(self._draft.undo)
        self.redo.clicked.connect(self._draft.redo)
        self.code = button("Code", tooltip="Show as code: the run as a short Python script, beside the forms")
        self.code.setCheckable(True)
        self.help = icon_button("help", "Help for this panel")
        self.search = SearchEdit()
        self.search.setMinimumWidth(110)
        self.search.setMaximumWidth(240)
        row = hbox(parent=self, margins=(SPACING.l, SPACING.m, SPACING.l, 0))
        # Aligned at the top, so that only the name's own sentence moves when there is something wrong with it.
        for widget, stretch in (
            (self.presets, 0),
            (self.name_form, 6),
            (self.undo, 0),
            (self.redo, 0),
            (self.search, 4),
            (self.code, 0),
            (self.help, 0),
        ):
            line = vbox(widget, STRETCH, margins=(0, 0 if widget is self.name_form else _ROW_MARGIN, 0, 0))
            row.addLayout(line, stretch)
            if widget is self.name_form:
                row.addStretch(1)
        theme().changed.connect(self._fit_name)
        self._fit_name()
        self._draft.changed.connect(self._update)
        self._update()

    def focus_widgets(self) -> list[QWidget]:
        """What Tab visits, in order."""
        return [self.presets, *self.name_form.focus_widgets(), self.undo, self.redo, self.search, self.code, self.help]

    def _menu(self) -> QMenu:
        context, menu = self._context, QMenu(self)
        self.choose_action = menu.addAction(icon("list"), "Choose a preset…", self._choose_preset)
        menu.addSeparator()
        menu.addAction(icon("folder"), "Open TOML…", lambda: ask_and_open(context, self))
        self.save_action = menu.addAction(icon("save"), "Save as TOML…", lambda: ask_and_save(context, self))
        menu.addSeparator()
        self.reset_action = menu.addAction("Reset all settings", lambda: self._draft.load_preset())
        return menu

    def _choose_preset(self) -> None:
        if ask_for_preset(self._context, self):
            self.preset_used.emit()

    @Slot()
    def _fit_name(self) -> None:
        """The text may have another size."""
        (row,) = self.name_form.rows().values()
        metrics = QFontMetrics(font("body"))
        row.title.setFixedWidth(metrics.horizontalAdvance(row.title.text()) + 12)
        self.name_form.setMinimumWidth(row.width_beside() + metrics.averageCharWidth() * _LEAST_LETTERS)

    def _update(self) -> None:
        self.undo.setEnabled(self._draft.can_undo)
        self.redo.setEnabled(self._draft.can_redo)
        self.save_action.setEnabled(self._draft.config() is not None)


class Finder(QObject):
    """Connects the search line with the forms, and with where it runs; ``show`` brings a setting into view."""

    def __init__(
        self,
        search: SearchEdit,
        forms: Sequence[SectionForm],
        where: WhereCard,
        show: Callable[[str], object],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._search = search
        self._forms = forms
        self._where = where
        self._show = show
        self.found: list[str] = []
        self.current = -1
        search.looked_for.connect(self.look_for)
        search.next_asked.connect(self.go)

    def look_for(self, query: str) -> None:
        """Find again and show the first."""
        self.found = find_settings(query, self._forms, [(PLACE, TITLE, WORDS)])
        self.current = 0 if self.found else -1
        self._mark()

    def go(self, step: int) -> None:
        """To the next one, round and round."""
        if self.found:
            self.current = (self.current + step) % len(self.found)
            self._mark()

    def _mark(self) -> None:
        path = self.found[self.current] if self.found else ""
        if path:
            self._show(path)
        for form in self._forms:
            form.mark_found(self.found, path)
        self._where.mark_found(self.found, path)
        self._search.set_count(self.current, len(self.found))
