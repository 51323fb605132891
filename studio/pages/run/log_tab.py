"""All that the run told, line by line: filtered by words and by kind, and copied."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from studio.actions.files import copy_text, reveal
from studio.pages.run.event_words import GROUPS, describe_event, group_of
from studio.state.context import AppContext
from studio.state.search import holds, split_query
from studio.theme import SPACING
from studio.widgets import ComboBox, MonoText, SearchLine, button, hbox, label, vbox
from training.events import Event

_SETTLE = 100  # milliseconds in which more lines may come before they are shown
_MOST = 5000  # lines that are shown, the newest


class LogTab(QWidget):
    """Follows ``context.shown``."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._lines: list[tuple[str, str]] = []  # group and text
        self.words = SearchLine("Filter the log")
        self.group = ComboBox()
        self.group.setAccessibleName("Show lines of this kind")
        self.group.addItems(["Everything", *GROUPS])
        self.count = label("", "caption")
        self.copy = button("Copy", "copy", tooltip="Copy the lines shown", clicked=self._copy)
        self.file = button("Technical log", "file", tooltip="Show the file log.txt of the run", clicked=self._reveal)
        self.text = MonoText("Log of the run")
        self._later = QTimer(self, singleShot=True, interval=_SETTLE)
        self._later.timeout.connect(self._show)
        row = hbox((self.words, 1), self.group, self.count, self.copy, self.file)
        vbox(row, (self.text, 1), parent=self, spacing=SPACING.m, margins=SPACING.l)
        self.words.textChanged.connect(self._show)
        self.group.currentIndexChanged.connect(self._show)
        context.shown.attached.connect(self._forget)
        context.shown.event_arrived.connect(self._on_event)
        self._forget()

    def lines(self) -> list[str]:
        """Those that fit the filter, the oldest first."""
        words, group = split_query(self.words.text()), self.group.currentText()
        fitting = (text for kind, text in self._lines if group in ("Everything", kind))
        return [text for text in fitting if holds(text, words)]

    @Slot()
    def _forget(self) -> None:
        self._lines.clear()
        self._show()

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        text = describe_event(event)
        if text:
            self._lines.append((group_of(event), text))
            if self.isVisible() and not self._later.isActive():
                self._later.start()

    @Slot()
    def _show(self) -> None:
        found, bar = self.lines(), self.text.verticalScrollBar()
        follows, before = bar.value() == bar.maximum(), bar.value()
        self.text.setPlainText("\n".join(found[-_MOST:]))
        yet = " yet" if self._context.shown.run.live else ""
        self.text.setPlaceholderText("No line fits the filter." if self._lines else f"The run has told nothing{yet}.")
        bar.setValue(bar.maximum() if follows else before)
        total = len(self._lines)
        self.count.setText(f"{total:,} lines" if len(found) == total else f"{len(found):,} of {total:,} lines")
        self.copy.setEnabled(bool(found))
        self.file.setEnabled(self._context.shown.run.folder is not None)

    @Slot()
    def _copy(self) -> None:
        copy_text("\n".join(self.lines()))

    @Slot()
    def _reveal(self) -> None:
        folder = self._context.shown.run.folder
        if folder is not None:
            reveal(folder.log_file if folder.log_file.exists() else folder.path)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show()
