"""Find a setting by any of its words, on whatever panel it stands."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent

from studio.forms.messages import KIND_TITLES
from studio.forms.section_form import SectionForm
from studio.state.search import describe_setting, holds, rank_title, split_query
from studio.widgets import SearchLine, label, leave_undo_to_page
from training import catalog

Texts = Iterable[tuple[str, str, str]]
"""Of each setting its path, its title, and what else it is found by."""


def find_settings(query: str, forms: Iterable[SectionForm], others: Texts = ()) -> list[str]:
    """Paths of the settings whose title, name, unit, choices, explanation or further search words hold every word of ``query``.

    Those whose title or name fits best come first (see ``rank_title``); else in form order.
    """
    words = split_query(query)
    if not words:
        return []
    found: list[tuple[int, str]] = []
    for path, title, rest in chain(*map(_texts, forms), others):
        if holds(f"{title} {path} {rest}", words):
            names = title.casefold(), path.split(".")[-1]
            found.append((min(rank_title(name, words, " ".join(words)) for name in names), path))
    return [path for _, path in sorted(found, key=lambda item: item[0])]


def _texts(form: SectionForm) -> Texts:
    if form.chooser:
        entries = catalog.entries(form.section)
        rest = " ".join(f"{entry.title} {entry.kind} {entry.summary} {entry.also}" for entry in entries)
        yield form.chooser.path, f"{KIND_TITLES[form.section]} {form.heading}", f"{rest} kind"
    for path, spec in form.settings().items():
        yield path, spec.title, f"{describe_setting(spec)} {form.heading}"


class SearchEdit(SearchLine):
    """Search as in a page of text: found ones are marked, Enter goes to the next, Shift+Enter back, Escape ends.

    Signals: `looked_for(query)`, `next_asked(step)` with 1 or -1.
    """

    looked_for = Signal(str)
    next_asked = Signal(int)

    def __init__(self) -> None:
        super().__init__("Find a setting")
        self.setClearButtonEnabled(False)  # in whose place the count stands
        self.setToolTip("Find a setting (Ctrl+F). Enter goes to the next one found.")
        self.setAcceptDrops(False)
        leave_undo_to_page(self)
        self._count = label("", "caption")
        self._count.setParent(self)
        self._count.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._count.hide()
        self.textChanged.connect(self.looked_for)

    def set_count(self, current: int, total: int) -> None:
        """Show "2 of 5"; nothing while nothing is looked for."""
        text = "" if not self.text().strip() else f"{current + 1} of {total}" if total else "none"
        self._count.setText(text)
        self._count.setVisible(bool(text))
        self._count.adjustSize()
        self.setTextMargins(0, 0, self._count.width() + 6 if text else 0, 0)
        self.setAccessibleDescription(text)
        self._place()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.next_asked.emit(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            self.next_asked.emit(1 if key == Qt.Key.Key_Down else -1)
        elif key == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._place()

    def _place(self) -> None:
        size = self._count.sizeHint()
        self._count.resize(size)
        self._count.move(QPoint(self.width() - size.width() - 10, (self.height() - size.height()) // 2))
