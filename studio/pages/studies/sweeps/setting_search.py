"""A line that finds any setting of the draft that a sweep could vary."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QSignalBlocker, QStringListModel, Qt, QTimer, Signal
from PySide6.QtWidgets import QCompleter, QListView

from studio.forms.messages import KIND_TITLES
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import RUN, join_path, kinds, specs
from studio.widgets import SearchLine
from training.config.run import SECTIONS
from training.sweeps.space import explain_unvaried

_NONE = ("path", "consent", "table")
_MOST_SHOWN = 12


def list_variable(draft: Draft) -> Iterator[tuple[str, str]]:
    """Path and title of each setting that a sweep can vary as the draft is."""
    for section in (RUN, *SECTIONS):
        kind = draft.kind(section)
        if len(kinds(section)) > 1 and section != "dataset":
            yield f"{section}.kind", KIND_TITLES[section]
        for name, spec in specs(section, kind).items():
            path = join_path(section, name)
            is_alone = spec.editor == "choice" and len(spec.choices) < 2
            if spec.editor not in _NONE and not spec.of_the_data and not is_alone and not explain_unvaried(path):
                yield path, spec.title


class SettingSearch(SearchLine):
    """Signals: `chosen(path)`."""

    chosen = Signal(str)

    def __init__(self, draft: Draft) -> None:
        super().__init__("Add a setting to the sweep", "Add a setting: type a word of its name")
        self._draft = draft
        self._paths: dict[str, str] = {}
        self._names = QStringListModel(self)
        completer = QCompleter(self._names, self)
        completer.setPopup(QListView())
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setMaxVisibleItems(_MOST_SHOWN)
        completer.activated.connect(self._take)
        self.setCompleter(completer)
        self.returnPressed.connect(self._take_first)
        self.offer()

    def offer(self) -> None:
        """Look again what there is: settings that are varied already are left out."""
        found = {f"{title}   {path}": path for path, title in list_variable(self._draft)}
        self._paths = {words: path for words, path in found.items() if path not in self._draft.swept}
        self._names.setStringList(sorted(self._paths))

    def _take_first(self) -> None:
        typed = self.text().strip().casefold()
        first = next((words for words in sorted(self._paths) if typed and typed in words.casefold()), "")
        if first:
            self._take(first)

    def _take(self, words: str) -> None:
        if (path := self._paths.get(words)) is not None:
            self.chosen.emit(path)
            QTimer.singleShot(0, self, self._empty)  # the completer writes what was chosen after it has told

    def _empty(self) -> None:
        with QSignalBlocker(self):
            self.clear()
        self.offer()
