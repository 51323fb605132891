"""What a run was told: its summary, and what differs from the defaults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from studio.forms.messages import KindOf, kinds_of, tell_value, title_of
from studio.widgets import Card, KeyValueTable, label
from training.config.diff import Change, changes_from_defaults, diff, telling
from training.errors import TrainingError
from training.runs.folder import RunFolder


class ConfigView(Card):
    """Settings of one run that are not the defaults, or not those of another run."""

    def __init__(self) -> None:
        super().__init__("Settings", subtitle="What differs from the defaults")
        self._table = KeyValueTable()
        self._note = label("", "help", wrap=True)
        self.add(self._table, self._note)
        self.body.addStretch(1)

    def show_run(self, folder: RunFolder, other: RunFolder | None = None) -> None:
        """Read the run's configuration and compare it with the defaults, or with that of ``other``."""
        self.set_subtitle("What differs from the other run" if other else "What differs from the defaults")
        try:
            config, base = folder.config(), other.config() if other else None
        except TrainingError as error:
            self._table.set_rows([])
            self._note.setText(str(error))
            self._note.show()
            return
        found = telling(diff(base, config)) if base else changes_from_defaults(config)
        changes = [change for change in found if change.path != "name"]
        kind_of = kinds_of(config)
        titles = Counter(title_of(change, kind_of) for change in changes)
        kind_there, where = (kinds_of(base), "there") if base else (kind_of, "default")
        self._table.set_rows([_row(change, kind_of, titles, kind_there, where) for change in changes])
        self._note.setText(
            "" if changes else "Both have the same settings." if other else "Everything is at its default."
        )
        self._note.setVisible(not changes)


def _row(change: Change, kind_of: KindOf, titles: Mapping[str, int], kind_there: KindOf, where: str) -> tuple[str, str]:
    """Title and value, and the one ``where`` it is compared with, in whose words ``kind_there`` says the kinds."""
    title = title_of(change, kind_of)
    section = change.path.partition(".")[0]
    name = f"{title} ({section})" if titles[title] > 1 else title
    here = tell_value(change, kind_of, change.new) if change.new is not None else "–"
    there = tell_value(change, kind_there, change.old) if change.old is not None else "–"
    return name, f"{here}   ({where}: {there})"
