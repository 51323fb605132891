"""What chooses the passages or rows that are shown: a part, and the page."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSignalBlocker, Qt, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.panels.data.part_words import PARTS
from studio.panels.data.sample_pages import SamplePages
from studio.theme import SPACING
from studio.widgets import ComboBox, ElidedLabel, Stretch, fill, hbox, icon_button, label, vbox
from training.protocol.answers import DatasetReport

_BLINK = 150
"""Milliseconds: a page that is there by then does not flash a word."""
_WIDEST = 260
_FULL = 1000  # against 1: a box is as wide as it may be before anything is left beside it


class PageBar(QWidget):
    """Follows ``pages``, of ``what`` (a noun), and lets a part be chosen where ``by_part``. Below the choices stands why there is
    nothing to see."""

    def __init__(self, pages: SamplePages, what: str, *, by_part: bool = True) -> None:
        super().__init__()
        self._pages = pages
        self._what = what
        self._by_part = by_part
        self._report: DatasetReport | None = None
        self.part = _box("Part of the data")
        self.part.activated.connect(lambda: pages.choose_part(self.part.currentData()))
        self.first = icon_button("first", "First page", clicked=lambda: pages.turn_to(0))
        self.previous = icon_button("chevron-left", "Previous page (Page Up)", clicked=lambda: self.turn(-1))
        self.following = icon_button("chevron-right", "Next page (Page Down)", clicked=lambda: self.turn(1))
        self.last = icon_button("last", "Last page", clicked=lambda: pages.turn_to(pages.find_last()))
        self.range = ElidedLabel("", Qt.TextElideMode.ElideRight)
        turns = hbox(self.first, self.previous, self.following, self.last, (self.range, 1), spacing=SPACING.xs)
        self.message = label("", "help", wrap=True)
        self._late = QTimer(self, singleShot=True, interval=_BLINK)
        self._late.timeout.connect(self._update_words)
        column = vbox(parent=self)
        if by_part:
            fill(column, hbox((self.part, _FULL), Stretch(1)))
        fill(column, turns, self.message)
        for turn in (self.first, self.previous, self.following, self.last):
            self._add_keys(turn)
        pages.changed.connect(self._update)
        self._update()

    def turn(self, by: int) -> None:
        """To the next page (1), or the previous one (-1)."""
        self._pages.turn_to(self._pages.find_next(by))

    def _add_keys(self, widget: QWidget) -> None:
        for key, by in ((Qt.Key.Key_PageUp, -1), (Qt.Key.Key_PageDown, 1)):
            shortcut = QShortcut(QKeySequence(key), widget, context=Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(partial(self.turn, by))

    def _update(self) -> None:
        pages = self._pages
        if self._by_part and pages.report is not self._report:
            self._report = pages.report
            self._offer_parts()
        self.part.setCurrentIndex(max(0, self.part.findData(pages.wanted.part)))
        self.part.setEnabled(pages.ready)
        offset, last = pages.wanted.offset, pages.find_last()
        for turn, possible in (
            (self.first, offset > 0),
            (self.previous, offset > 0),
            (self.following, offset < last),
            (self.last, offset < last),
        ):
            turn.setVisible(last > 0)
            turn.setEnabled(pages.ready and possible)
        if pages.waiting:
            self._late.start()
        else:
            self._late.stop()
            self._update_words()

    def _offer_parts(self) -> None:
        report = self._pages.report
        count = report.layout != "tokens"  # of a large text only the beginning was read
        with QSignalBlocker(self.part):
            self.part.clear()
            for part, samples in report.samples.items():
                title = PARTS.get(part, part).capitalize()
                self.part.addItem(f"{title} ({samples:,})" if count else title, part)

    def _update_words(self) -> None:
        pages = self._pages
        words = pages.find_range(pages.wanted) if pages.waiting and pages.total else pages.find_range(pages.shown)
        if pages.waiting:
            self.range.setText(
                f"Loading {words} …" if pages.wanted.part == pages.shown.part and pages.total else "Loading …"
            )
        else:
            self.range.setText(words if pages.total else "")
        message = self._find_message()
        self.message.setText(message)
        self.message.setVisible(bool(message))

    def _find_message(self) -> str:
        pages = self._pages
        if pages.waiting:
            return "A run is being trained, so a second engine reads these." if pages.beside_run else ""
        if pages.refusal:
            return f"The other {self._what}s could not be loaded. {pages.refusal}"
        if pages.page is not None and not pages.total:
            return f"No {self._what} in the {PARTS.get(pages.shown.part, pages.shown.part)} part."
        return ""


def _box(name: str) -> ComboBox:
    """As wide as there is room for: the longest name of a class must not widen the page."""
    box = ComboBox()
    box.setAccessibleName(name)
    box.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMaximumWidth(_WIDEST)
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return box
