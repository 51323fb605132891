"""What a run was told: its summary, and what differs from the defaults."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from studio.panels.sheet_view import telling
from studio.state.formats import format_number
from studio.widgets import Card, KeyValueTable, label
from training.config import RunConfig
from training.config.diff import Change, diff
from training.errors import TrainingError
from training.runs.folder import RunFolder


class ConfigView(Card):
    """Settings of one run that are not the defaults."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Settings", subtitle="What differs from the defaults", parent=parent)
        self._table = KeyValueTable()
        self._note = label("", "help", wrap=True)
        self.add(self._table, self._note)
        self.body.addStretch(1)

    def show_run(self, folder: RunFolder) -> None:
        """Read the run's configuration and compare it."""
        try:
            config = folder.config()
        except TrainingError as error:
            self._table.set_rows([])
            self._note.setText(str(error))
            self._note.show()
            return
        found = telling(diff(RunConfig(), config))
        changes = [change for change in found if change.path != "name" and change.new is not None]
        self._table.set_rows([(change.path, _format(change)) for change in changes])
        self._note.setText("" if changes else "Everything is at its default.")
        self._note.setVisible(not changes)


def _format(change: Change) -> str:
    value = change.new
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return format_number(value)
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return str(value)
