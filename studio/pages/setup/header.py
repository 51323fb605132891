"""The head of the page: presets and files, the run's name, undo, search."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout, QWidget

from studio.forms.search import SearchEdit
from studio.forms.section_form import SectionForm
from studio.pages.setup.files import ask_and_open, ask_and_save
from studio.pages.setup.presets import ask_for_preset
from studio.state.context import AppContext
from studio.state.setting_specs import RUN
from studio.theme import SPACING, icon, set_property
from studio.widgets import button, icon_button

_ROW_MARGIN = 3  # what a row of a form keeps free above its editor


class SetupHeader(QWidget):
    """Knows the context because its menu opens and saves."""

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
            label_width=self.fontMetrics().horizontalAdvance("Name") + 8,
            bare=True,
        )
        self.name_form.setMaximumWidth(420)
        self.undo = icon_button("undo", "Undo (Ctrl+Z)")
        self.redo = icon_button("redo", "Redo (Ctrl+Shift+Z)")
        self.undo.clicked.connect(self._draft.undo)
        self.redo.clicked.connect(self._draft.redo)
        self.search = SearchEdit()
        self.search.setMinimumWidth(150)
        self.search.setMaximumWidth(240)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACING.l, SPACING.m, SPACING.l, 0)
        row.setSpacing(SPACING.s)
        # Aligned at the top, so that only the name's own sentence moves when there is something wrong with it.
        for widget, stretch in (
            (self.presets, 0),
            (self.name_form, 6),
            (self.undo, 0),
            (self.redo, 0),
            (self.search, 4),
        ):
            line = QVBoxLayout()
            line.setContentsMargins(0, 0 if widget is self.name_form else _ROW_MARGIN, 0, 0)
            line.addWidget(widget)
            line.addStretch(1)
            row.addLayout(line, stretch)
            if widget is self.name_form:
                row.addStretch(1)
        self._draft.changed.connect(self._update)
        self._update()

    def focus_widgets(self) -> list[QWidget]:
        """What Tab visits, in order."""
        return [self.presets, *self.name_form.focus_widgets(), self.undo, self.redo, self.search]

    def _menu(self) -> QMenu:
        context, menu = self._context, QMenu(self)
        self.choose_action = menu.addAction(icon("list"), "Choose a preset…", lambda: ask_for_preset(context, self))
        menu.addSeparator()
        menu.addAction(icon("folder"), "Open TOML…", lambda: ask_and_open(context, self))
        self.save_action = menu.addAction(icon("save"), "Save as TOML…", lambda: ask_and_save(context, self))
        menu.addSeparator()
        self.reset_action = menu.addAction("Reset all settings", self._draft.reset_all)
        return menu

    def _update(self) -> None:
        self.undo.setEnabled(self._draft.can_undo)
        self.redo.setEnabled(self._draft.can_redo)
        self.save_action.setEnabled(self._draft.config() is not None)
