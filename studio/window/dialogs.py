"""Small dialogs of the window: an error nobody expected, and what the program is."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QPlainTextEdit,
    QWidget,
)

from studio import identity
from studio.actions.files import copy_text, reveal
from studio.actions.table import ACTIONS
from studio.services.crash import system_summary
from studio.theme import SPACING, font
from studio.widgets import button, hbox, label, vbox


class ReportDialog(QDialog):
    """Shows a technical text that can be copied, and the ``folder`` it is kept in."""

    def __init__(
        self, title: str, sentence: str, report: str, folder: Path | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.resize(680, 420)
        text = QPlainTextEdit(report, readOnly=True)
        text.setFont(font("mono"))
        text.setAccessibleName("Report")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        copy = button("Copy", "copy")
        copy.clicked.connect(lambda: copy_text(report))
        buttons.addButton(copy, QDialogButtonBox.ButtonRole.ActionRole)
        if folder is not None:
            show = button("Open folder", "folder")
            show.clicked.connect(lambda: reveal(folder))
            buttons.addButton(show, QDialogButtonBox.ButtonRole.ActionRole)
        vbox(
            label(title, "section"),
            label(sentence, wrap=True),
            (text, 1),
            buttons,
            parent=self,
            spacing=SPACING.m,
            margins=SPACING.l,
        )


class AboutDialog(QDialog):
    """Name, version and all shortcuts."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"About {identity.APP_NAME}")
        image = QLabel(pixmap=QIcon(str(identity.APP_ICON)).pixmap(56, 56))
        words = vbox(
            label(identity.APP_NAME, "title"),
            label(identity.SUMMARY, "subtitle"),
            label(system_summary(), "caption", selectable=True),
            spacing=2,
        )
        head = hbox((image, 0, Qt.AlignmentFlag.AlignTop), (words, 1), spacing=SPACING.l)
        keys = QGridLayout()
        keys.setHorizontalSpacing(SPACING.xl)
        keys.setVerticalSpacing(SPACING.xs)
        keyed = [action for action in ACTIONS if action.shortcut]
        rows = (len(keyed) + 1) // 2
        for at, action in enumerate(keyed):
            row, column = at % rows, at // rows * 2
            keys.addWidget(label(action.title.removesuffix(" …").replace("&&", "&")), row, column)
            keys.addWidget(label(action.shortcut, "mono"), row, column + 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        vbox(
            head,
            label("Keyboard", "section"),
            keys,
            buttons,
            parent=self,
            spacing=SPACING.l,
            margins=(SPACING.xl, SPACING.xl, SPACING.xl, SPACING.l),
        )
