"""What chooses the samples that are shown: a part, a class, and the page."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSignalBlocker, Qt, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.panels.data.part_words import PARTS
from studio.panels.data.sample_pages import SamplePages
from studio.theme import SPACING
from studio.widgets import ComboBox, ElidedLabel, Stretch, fill, hbox, icon_button, label, vbox
from training.facts import Target
from training.protocol.answers import DatasetReport

_OF_CLASSES: tuple[Target, ...] = ("class", "labels")
_BLINK = 150
"""Milliseconds: a page that is there by then does not flash a word."""
_WIDEST = 260
_FULL = 1000  # against 1: a box is as wide as it may be before anything is left beside it
_NAMED = 3
"""How many files that cannot be read are named."""


class PageBar(QWidget):
    """Follows ``pages``, of ``what`` (a noun), and lets a part be chosen where ``by_part``. Below the choices stands why there is
    nothing, or less, to see."""

    def __init__(self, pages: SamplePages, what: str, *, by_part: bool = True) -> None:
        super().__init__()
        self._pages = pages
        self._what = what
        self._by_part = by_part
        self._told: tuple[DatasetReport, str] | None = None
        self._keyboard: QWidget | None = None
        self.part = _box("Part of the data")
        self.part.activated.connect(lambda: pages.choose_part(self.part.currentData()))
        self.of_class = _box("Class")
        self.of_class.activated.connect(lambda: pages.choose_class(self.of_class.currentData()))
        self.first = icon_button("first", "First page", clicked=lambda: pages.turn_to(0))
        self.previous = icon_button("chevron-left", "Previous page (Page Up)", clicked=lambda: self.turn(-1))
        self.following = icon_button("chevron-right", "Next page (Page Down)", clicked=lambda: self.turn(1))
        self.last = icon_button("last", "Last page", clicked=lambda: pages.turn_to(pages.find_last()))
        self.range = ElidedLabel("", Qt.TextElideMode.ElideRight)
        self._row = hbox(self.first, self.previous, self.following, self.last, (self.range, 1), spacing=SPACING.xs)
        self.message = label("", "help", wrap=True)
        self._late = QTimer(self, singleShot=True, interval=_BLINK)
        self._late.timeout.connect(self._update_words)
        column = vbox(parent=self)
        if by_part:
            fill(column, hbox((self.part, _FULL), (self.of_class, _FULL), Stretch(1)))
        fill(column, self._row, self.message)
        for turn in (self.first, self.previous, self.following, self.last):
            self._add_keys(turn)
        pages.changed.connect(self._update)
        self._update()

    def turn(self, by: int) -> None:
        """To the next page (1), or the previous one (-1)."""
        self._pages.turn_to(self._pages.find_next(by))

    def add(self, *widgets: QWidget) -> None:
        """Put something at the right of the page's buttons."""
        fill(self._row, *widgets)

    def follow_keys(self, widget: QWidget) -> None:
        """Let Page Up and Page Down turn the page while ``widget`` has the keyboard."""
        self._keyboard = widget
        self._add_keys(widget)

    def _add_keys(self, widget: QWidget) -> None:
        for key, by in ((Qt.Key.Key_PageUp, -1), (Qt.Key.Key_PageDown, 1)):
            shortcut = QShortcut(QKeySequence(key), widget, context=Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(partial(self.turn, by))

    def _update(self) -> None:
        pages = self._pages
        told = pages.report, pages.wanted.part  # each part has numbers of its own
        if self._told is None or told[0] is not self._told[0] or told[1] != self._told[1]:
            self._told = told
            if self._by_part:
                self._offer_parts()
                self._offer_classes()
        _choose(self.part, pages.wanted.part)
        _choose(self.of_class, pages.wanted.class_name)
        self.part.setEnabled(pages.ready)
        self.of_class.setEnabled(pages.ready)
        offset, last = pages.wanted.offset, pages.find_last()
        for turn, possible in (
            (self.first, offset > 0),
            (self.previous, offset > 0),
            (self.following, offset < last),
            (self.last, offset < last),
        ):
            if turn.hasFocus() and not possible and self._keyboard is not None:
                self._keyboard.setFocus()  # instead of whatever comes next
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

    def _offer_classes(self) -> None:
        report, part = self._pages.report, self._pages.wanted.part
        known = report.target in _OF_CLASSES
        self.of_class.setVisible(known)
        with QSignalBlocker(self.of_class):
            self.of_class.clear()
            self.of_class.addItem("All classes" if report.target == "class" else "All labels", "")
            for name, count in zip(report.classes, report.counts.get(part, ()), strict=False) if known else ():
                self.of_class.addItem(f"{name} ({count:,})", name)

    def _update_words(self) -> None:
        pages = self._pages
        words = pages.find_range(pages.wanted) if pages.waiting and pages.total else pages.find_range(pages.shown)
        if pages.waiting:
            same = (pages.wanted.part, pages.wanted.class_name) == (pages.shown.part, pages.shown.class_name)
            self.range.setText(f"Loading {words} …" if same and pages.total else "Loading …")
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
            of_class = f" of class {pages.shown.class_name}" if pages.shown.class_name else ""
            return f"No {self._what}{of_class} in the {PARTS.get(pages.shown.part, pages.shown.part)} part."
        unreadable = pages.page.unreadable if pages.page is not None else ()
        if not unreadable:
            return ""
        named = "\n".join(f"{file.path}: {file.reason}" for file in unreadable[:_NAMED])
        more = len(unreadable) - _NAMED
        return f"Cannot be shown:\n{named}{f'{chr(10)}and {more} more' if more > 0 else ''}"


def _box(name: str) -> ComboBox:
    """As wide as there is room for: the longest name of a class must not widen the page."""
    box = ComboBox()
    box.setAccessibleName(name)
    box.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMaximumWidth(_WIDEST)
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return box


def _choose(box: ComboBox, key: str) -> None:
    box.setCurrentIndex(max(0, box.findData(key)))
