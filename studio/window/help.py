"""The help: the pages of ``resources/help`` with a list, a search, and a way back."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Qt, QUrl, Slot
from PySide6.QtGui import QKeySequence, QTextBlockFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import (
    QDialog,
    QListWidget,
    QListWidgetItem,
    QTextBrowser,
    QWidget,
)

from studio.state.search import holds, split_query
from studio.theme import SPACING
from studio.widgets import SearchLine, hbox, icon_button, label, resize_within_parent, vbox
from training.system.resources import find_resources

_FOLDER = find_resources("studio", "help")
TOPICS = (
    "getting-started", "data", "tables", "own-data", "models", "optimizer", "loop", "training", "evaluate", "try-it", "runs", "queue", "compare", "studies", "sweeps", "index", "export", "findings", "command-line", "engines", "environment", "processes", "machines", "speed", "glossary",
)  # fmt: skip
_LIST_WIDTH = 240
_ROW_HEIGHT = 30


def read_help() -> dict[str, str]:
    """The text of each page, by its topic."""
    return {topic: (_FOLDER / f"{topic}.md").read_text(encoding="utf-8") for topic in TOPICS}


def help_headings() -> list[tuple[str, str, str]]:
    """Topic, title, and the heading of each part of a page, "" for the page itself."""
    found = []
    for topic, text in read_help().items():
        title = text.partition("\n")[0].removeprefix("# ")
        found.append((topic, title, ""))
        found += [(topic, title, line.removeprefix("## ")) for line in text.splitlines() if line.startswith("## ")]
    return found


class HelpWindow(QDialog):
    """Stays open beside the main window. Searching keeps the pages that have all words, and marks the first place."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Help")
        resize_within_parent(self, 1080, 720)
        self._texts = read_help()
        self.search = SearchLine("Search help")
        self.pages = QListWidget()
        self.pages.setAccessibleName("Help pages")
        for topic, text in self._texts.items():
            item = QListWidgetItem(text.partition("\n")[0].removeprefix("# "))
            item.setData(Qt.ItemDataRole.UserRole, topic)
            item.setSizeHint(QSize(0, _ROW_HEIGHT))
            self.pages.addItem(item)
        self.nothing = label("", "help", wrap=True)
        self.nothing.hide()
        self.text = QTextBrowser()
        self.text.setAccessibleName("Help page")
        self.text.setOpenExternalLinks(True)
        self.text.setSearchPaths([str(_FOLDER)])
        self.text.document().setDocumentMargin(SPACING.l)
        self.back = icon_button("undo", "Back (Alt+Left)")
        self.back.setShortcut(QKeySequence.StandardKey.Back)
        self.back.setEnabled(False)
        self._lay_out()
        self.back.clicked.connect(self.text.backward)
        self.text.backwardAvailable.connect(self.back.setEnabled)
        self.text.sourceChanged.connect(self._on_source_changed)
        self.pages.currentItemChanged.connect(self._on_page_chosen)
        self.search.textChanged.connect(self._on_search)
        self.show_topic(TOPICS[0])

    def _lay_out(self) -> None:
        head = hbox(self.back, (self.search, 1))
        side = vbox(head, self.nothing, (self.pages, 1))
        beside = QWidget()
        beside.setLayout(side)
        side.setContentsMargins(0, 0, 0, 0)
        beside.setFixedWidth(_LIST_WIDTH)
        hbox(beside, (self.text, 1), parent=self, spacing=SPACING.m, margins=SPACING.m)

    def show_topic(self, topic: str) -> None:
        """Turn to the page ``topic``, one of ``TOPICS``; "topic#words" to the entry of that code in it, or else to the first
        place of these words."""
        page, _, words = topic.partition("#")
        if page != self.topic or not words:  # loading it lays all of it out once more
            self.text.setSource(QUrl(f"{page}.md"), QTextDocument.ResourceType.MarkdownResource)
        if words:
            self.text.setTextCursor(_find(self.text.document(), words))
            self.text.verticalScrollBar().setValue(
                self.text.verticalScrollBar().value() + self.text.cursorRect().top() - SPACING.xl
            )

    @property
    def topic(self) -> str:
        """The page in sight."""
        return Path(self.text.source().path()).stem

    @Slot(QUrl)
    def _on_source_changed(self, url: QUrl) -> None:
        _space_out(self.text.document())
        self.pages.setCurrentRow(TOPICS.index(Path(url.path()).stem))

    @Slot(QListWidgetItem)
    def _on_page_chosen(self, item: QListWidgetItem | None) -> None:
        if item is not None and item.data(Qt.ItemDataRole.UserRole) != self.topic:
            self.show_topic(item.data(Qt.ItemDataRole.UserRole))
        self._mark()

    @Slot(str)
    def _on_search(self, searched: str) -> None:
        words = split_query(searched)
        found = [holds(text, words) for text in self._texts.values()]
        for row, fits in enumerate(found):
            self.pages.item(row).setHidden(not fits)
        self.nothing.setText("" if any(found) else "No page has all of these words. Search for fewer, or for others.")
        self.nothing.setVisible(not any(found))
        if any(found) and not found[self.pages.currentRow()]:
            self.pages.setCurrentRow(found.index(True))
        self._mark()

    def _mark(self) -> None:
        """Show the first place of the first word that is searched for."""
        words = self.search.text().split()
        self.text.moveCursor(QTextCursor.MoveOperation.Start)
        if words:
            self.text.find(words[0])


def _find(page: QTextDocument, words: str) -> QTextCursor:
    """Where the line that is called by ``words`` names them, not one of its list that speaks of them; else their first place."""
    first = found = page.find(words)
    while not found.isNull():
        if found.block().textList() is None and found.block().text().endswith(f" {words}"):
            return found
        found = page.find(words, found)
    return QTextCursor(page) if first.isNull() else first


def _space_out(page: QTextDocument) -> None:
    """Room above headings and between lines, which Qt's Markdown leaves out."""
    block = page.begin()
    while block.isValid():
        cursor, form = QTextCursor(block), block.blockFormat()
        if form.headingLevel():
            form.setTopMargin(SPACING.xl if block.position() else 0)
            form.setBottomMargin(SPACING.s)
        elif not form.nonBreakableLines():  # not code
            form.setLineHeight(125, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            if block.textList() is None and cursor.currentTable() is None:
                form.setTopMargin(SPACING.s)
        cursor.setBlockFormat(form)
        block = block.next()
