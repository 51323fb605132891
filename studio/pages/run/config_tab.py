"""What the run was told: what differs from the defaults, and the way into the forms."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from studio.panels.config_view import ConfigView
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import STRETCH, button, hbox, in_widget, scroll_area, vbox


class ConfigTab(QWidget):
    """Follows ``context.shown``."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.settings = ConfigView()
        self.take = button(
            "Open in Setup", "sliders", tooltip="Put these settings into the forms; undo takes them back"
        )
        self.take.clicked.connect(self._take)
        area = scroll_area(in_widget(vbox(self.settings, STRETCH, margins=SPACING.l)))
        row = hbox(STRETCH, self.take, margins=(SPACING.l, SPACING.m, SPACING.l, 0))
        vbox(row, (area, 1), parent=self)
        context.shown.attached.connect(self._show_run)
        self._show_run()

    @Slot()
    def _show_run(self) -> None:
        folder = self._context.shown.run.folder
        self.take.setEnabled(folder is not None)
        if folder is not None:
            self.settings.show_run(folder)

    @Slot()
    def _take(self) -> None:
        config = self._context.shown.run.config()
        if config is not None:
            self._context.cancel_branch()
            self._context.draft.set_config(config)
            self._context.show_page("setup")
