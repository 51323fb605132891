"""Search over all panels: which settings were found, and which one is looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject

from studio.forms.search import SearchEdit, find_settings, mark_found
from studio.forms.section_form import SectionForm


class Finder(QObject):
    """Connects the search line with the forms; ``show`` brings a setting into view."""

    def __init__(
        self, search: SearchEdit, forms: Sequence[SectionForm], show: Callable[[str], object], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._search = search
        self._forms = forms
        self._show = show
        self.found: list[str] = []
        self.current = -1
        search.looked_for.connect(self.look_for)
        search.next_asked.connect(self.go)

    def look_for(self, query: str) -> None:
        """Find again and show the first."""
        self.found = find_settings(query, self._forms)
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
        mark_found(self._forms, self.found, path)
        self._search.set_count(self.current, len(self.found))
