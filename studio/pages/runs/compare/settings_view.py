"""The settings of compared runs side by side."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from studio.pages.runs.compare.text_table import TextTable
from studio.panels.charts.save_menu import SaveMenu
from studio.state.context import AppContext
from studio.state.runs.comparison import Comparison, say_setting
from studio.widgets import STRETCH, Switch, hbox, icon_button, label, vbox
from training.runs.groups import differing


class SettingsView(QWidget):
    """A row for each setting, a column for each run: those that differ, or all."""

    def __init__(self, context: AppContext, comparison: Comparison) -> None:
        super().__init__()
        self._comparison = comparison
        self.everything = Switch("All settings")
        self.everything.toggled.connect(self.rebuild)
        self._note = label("", "help", wrap=True)
        self.table = TextTable("Settings of the compared runs")
        menu = SaveMenu(context, self, lambda: "compared-settings", tabulate=lambda: [self.table.tabulate()])
        save = icon_button("save", "Copy or save this table", clicked=menu.open)
        vbox(hbox((self._note, 1), STRETCH, self.everything, save), (self.table, 1), parent=self)

    def rebuild(self) -> None:
        """Show the runs compared now."""
        runs = self._comparison.list_read()
        paths = differing(run.settings for run in runs)
        count = len(paths)
        if self.everything.isChecked():
            paths = list(dict.fromkeys(path for run in runs for path in run.settings if path != "name"))
        titles = ["Setting", *(self._comparison.title(run.folder) for run in runs)]
        self.table.show_rows(titles, [[path, *(say_setting(run.settings.get(path)) for run in runs)] for path in paths])
        unread = sum(not run.settings for run in runs)
        words = f"{count} settings differ." if count != 1 else "1 setting differs."
        if len(runs) < 2:
            words = "Choose a second run to see what differs."
        elif not count:
            words = "These runs have the same settings."
        self._note.setText(f"{words} The settings of {unread} cannot be read." if unread else words)
        self.table.setVisible(bool(paths))
