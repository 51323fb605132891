"""What the run was told: what differs from the defaults or from another run, and the way into the forms."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from studio.panels.config_view import ConfigView
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import STRETCH, ComboBox, button, hbox, in_widget, label, scroll_area, vbox


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
        area = scroll_area(in_widget(vbox(self.settings, STRETCH, margins=SPACING.l)), "Settings of the run")
        self.other = ComboBox()
        self.other.setAccessibleName("Compare the settings with")
        self.other.setMinimumWidth(220)
        self.other.activated.connect(self._show_settings)
        row = hbox(
            label("Compare with", "field"), self.other, STRETCH, self.take, margins=(SPACING.l, SPACING.m, SPACING.l, 0)
        )
        vbox(row, (area, 1), parent=self)
        context.shown.attached.connect(self._show_run)
        context.library.refreshed.connect(self._offer_runs)
        self._show_run()

    @Slot()
    def _show_run(self) -> None:
        folder = self._context.shown.run.folder
        self.take.setEnabled(folder is not None)
        self._offer_runs()
        if self.other.currentIndex() > 0 and self.other.currentData() == folder:
            self.other.setCurrentIndex(0)
        self._show_settings()

    @Slot()
    def _offer_runs(self) -> None:
        """Of the list of runs: the defaults, and every other one."""
        library, shown, chosen = self._context.library, self._context.shown.run.folder, self.other.currentData()
        runs = [run for run in library.runs if run.folder != shown]
        offered = [("Defaults", None), *((library.title_of(run), run.folder) for run in runs)]
        if [text for text, _ in offered] != [self.other.itemText(row) for row in range(self.other.count())]:
            self.other.clear()
            for text, folder in offered:
                self.other.addItem(text, folder)
        at = next((row for row, (_, folder) in enumerate(offered) if folder == chosen), 0)
        self.other.setCurrentIndex(at)

    @Slot()
    def _show_settings(self) -> None:
        folder = self._context.shown.run.folder
        if folder is not None:
            self.settings.show_run(folder, self.other.currentData())

    @Slot()
    def _take(self) -> None:
        config = self._context.shown.run.config()
        if config is not None:
            self._context.cancel_branch()
            self._context.draft.set_config(config)
            self._context.show_page("setup")
