"""A model card as a page to read, whether or not the system has a program for Markdown."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QDialog, QTextBrowser, QWidget

from studio.actions.files import open_file, reveal
from studio.theme import SPACING
from studio.widgets import STRETCH, button, hbox, label, resize_within_parent, vbox
from training.system.untrusted import MEGABYTE, UnfitFile, read_bytes

_FENCE = "---"


class CardDialog(QDialog):
    """Shows the Markdown file ``path``, without what it says to machines at its head."""

    def __init__(self, path: Path, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Model card")
        resize_within_parent(self, 760, 640)
        self.text = QTextBrowser()
        self.text.setAccessibleName("Model card")
        self.text.setOpenExternalLinks(True)
        self.text.document().setDocumentMargin(SPACING.l)
        self.text.setMarkdown(_read(path))
        edit = button("Open in editor", "file", "primary", clicked=lambda: open_file(path))
        edit.setToolTip("What only its author knows is filled in there; its proof stays valid")
        shown = button("Show in folder", "folder", clicked=lambda: reveal(path))
        close = button("Close", clicked=self.reject)
        where = label(str(path), "help", wrap=True, selectable=True)
        vbox((self.text, 1), where, hbox(STRETCH, edit, shown, close), parent=self, margins=SPACING.l)


def _read(path: Path) -> str:
    try:
        text = read_bytes(path, MEGABYTE).decode("utf-8", "replace")
    except (OSError, UnfitFile) as error:
        return f"{path.name} cannot be read: {getattr(error, 'strerror', None) or error}."
    head, _, rest = text.removeprefix(f"{_FENCE}\n").partition(f"\n{_FENCE}\n")
    return rest if text.startswith(f"{_FENCE}\n") and rest else head
