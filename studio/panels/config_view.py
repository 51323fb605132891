"""What a run was told: its summary, and what differs from the defaults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from studio.forms.messages import KindOf, tell_value, title_of
from studio.panels.sheet_view import kinds_of, telling
from studio.widgets import Card, KeyValueTable, label
from training.config import RunConfig
from training.config.diff import Change, diff
from training.errors import TrainingError
from training.runs.folder import RunFolder


class ConfigView(Card):
    """Settings of one run that are not the defaults."""

    def __init__(self) -> None:
        super().__init__("Settings", subtitle="What differs from the defaults")
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
        kind_of = kinds_of(config)
        titles = Counter(title_of(change, kind_of) for change in changes)
        self._table.set_rows([_row(change, kind_of, titles) for change in changes])
        self._note.setText("" if changes else "Everything is at its default.")
        self._note.setVisible(not changes)


def _row(change: Change, kind_of: KindOf, titles: Mapping[str, int]) -> tuple[str, str]:
    title = title_of(change, kind_of)
    section = change.path.partition(".")[0]
    return f"{title} ({section})" if titles[title] > 1 else title, tell_value(change, kind_of, change.new)
