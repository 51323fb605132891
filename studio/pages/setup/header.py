"""The head of the page: presets and files, the run's name, undo, search."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QMenu, QWidget

from studio.forms.search import SearchEdit
from studio.forms.section_form import SectionForm
from studio.pages.setup.files import ask_and_open, ask_and_save
from studio.state.context import AppContext
from studio.state.setting_specs import RUN
from studio.theme import SPACING, icon, set_property
from studio.widgets import button, icon_button
from training.presets import preset_names

_PRESET_TITLES = {"sample": "Sample: drawn shapes", "spiral": "Spiral"}


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
            self._draft, RUN, title="Run", only=("name",), label_width=self.fontMetrics().horizontalAdvance("Name") + 8, bare=True
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
        row.addWidget(self.presets)
        row.addWidget(self.name_form, 3)
        row.addStretch(1)
        row.addWidget(self.undo)
        row.addWidget(self.redo)
        row.addWidget(self.search, 2)
        self._draft.changed.connect(self._update)
        self._update()

    def focus_widgets(self) -> list[QWidget]:
        """What Tab visits, in order."""
        return [self.presets, *self.name_form.focus_widgets(), self.undo, self.redo, self.search]

    def _menu(self) -> QMenu:
        context, menu = self._context, QMenu(self)
        known = [name for name in _PRESET_TITLES if name in preset_names()]
        for name in [*known, *(name for name in preset_names() if name not in known)]:
            title = _PRESET_TITLES.get(name, name.replace("_", " ").capitalize())
            menu.addAction(title, partial(context.open_config, f"preset:{name}"))
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
