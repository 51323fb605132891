"""Small dialogs of the window: an error nobody expected, and what the program is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QWidget,
)

from studio import identity
from studio.actions.files import copy_text, reveal
from studio.actions.table import Action
from studio.charts.gestures import CHART_KEYS, GESTURES
from studio.services.crash import system_summary
from studio.services.logs import LOG_FILE, log_folder
from studio.theme import SPACING
from studio.widgets import STRETCH, MonoText, button, hbox, in_widget, label, resize_within_parent, scroll_area, vbox

_MARGINS = (SPACING.xl, SPACING.xl, SPACING.xl, SPACING.l)
_DIAGNOSTICS = "Diagnostics for a report of a problem: versions, hardware, the engine and the end of the log, without names and paths of your runs and data."


class ReportDialog(QDialog):
    """Shows a technical text that can be copied, and the ``folder`` it is kept in."""

    def __init__(
        self, title: str, sentence: str, report: str, folder: Path | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.resize(680, 420)
        text = MonoText("Report", report)
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
    """Name, version, license; the diagnostics of this machine, whose engine is ``python``, for the clipboard."""

    def __init__(self, python: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"About {identity.APP_NAME}")
        image = QLabel(pixmap=QIcon(str(identity.APP_ICON)).pixmap(56, 56))
        words = vbox(
            label(identity.APP_NAME, "title"),
            label(identity.SUMMARY, "subtitle"),
            label(system_summary(), "caption", wrap=True, selectable=True),
            label(identity.LICENSE, "caption"),
            spacing=2,
        )
        head = hbox((image, 0, Qt.AlignmentFlag.AlignTop), (words, 1), spacing=SPACING.l)
        self.setMinimumWidth(460)
        buttons, copy = _close_button(self), button("Copy diagnostics", "copy")
        buttons.addButton(copy, QDialogButtonBox.ButtonRole.ActionRole)

        def copy_diagnostics() -> None:
            copy_text(_write_diagnostics(python))
            copy.setText("Diagnostics copied")

        copy.clicked.connect(copy_diagnostics)
        vbox(head, label(_DIAGNOSTICS, "caption", wrap=True), buttons, parent=self, spacing=SPACING.l, margins=_MARGINS)


KEYS = (
    ("Next setting found", "Enter"),
    ("Setting found before", "Shift+Enter"),
    ("Make an edit again", "Ctrl+Y"),
    ("Next or previous page of samples", "Page Down, Page Up"),
    ("Larger or smaller samples", "+, −"),
)
"""What no menu tells."""


class ShortcutsDialog(QDialog):
    """All keys, and what the mouse does in charts."""

    def __init__(self, table: Sequence[Action], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard and mouse")
        commands = [(action.title.removesuffix(" …").replace("&&", "&"), action.shortcut) for action in table]
        keys = [*((title, key) for title, key in commands if key), *KEYS]
        lists = in_widget(
            vbox(
                label("Keyboard", "section"),
                _make_grid(keys),
                label("Keyboard, on the legend of a chart", "section"),
                _make_grid(CHART_KEYS),
                label("Mouse", "section"),
                _make_grid(GESTURES),
                STRETCH,
                spacing=SPACING.l,
            )
        )
        area = scroll_area(lists, "Keys and gestures")
        column = vbox((area, 1), _close_button(self), parent=self, spacing=SPACING.l, margins=_MARGINS)
        wanted = lists.sizeHint() + (column.sizeHint() - area.sizeHint()) + QSize(SPACING.l, 0)  # a bar at the side
        resize_within_parent(self, wanted.width(), wanted.height())


def _make_grid(pairs: Sequence[tuple[str, str]]) -> QGridLayout:
    """Two columns of a title and its keys."""
    grid = QGridLayout()
    grid.setHorizontalSpacing(SPACING.xl)
    grid.setVerticalSpacing(SPACING.xs)
    rows = (len(pairs) + 1) // 2
    for at, (title, keys) in enumerate(pairs):
        row, column = at % rows, at // rows * 2
        grid.addWidget(label(title), row, column)
        grid.addWidget(label(keys, "mono"), row, column + 1)
    return grid


def _close_button(dialog: QDialog) -> QDialogButtonBox:
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    buttons.rejected.connect(dialog.reject)
    return buttons


def report_problem(engine: str, python: str, parent: QWidget) -> None:
    """Show what a report of a problem begins with, until it is closed. ``engine`` is the one that is warm, ``python`` the chosen one."""
    text = "\n".join(["What I did:", "", "What happened:", "", f"engine now: {engine}", _write_diagnostics(python)])
    sentence = "Copy this, say what you did and what happened, and send it to the person who looks after this program. Nothing is sent by itself."
    ReportDialog("Report a problem", sentence, text, log_folder(), parent).exec()


def _write_diagnostics(python: str) -> str:
    from studio.services.diagnostics import write_diagnostics  # which knows how engines are found

    return write_diagnostics(python, log_folder() / LOG_FILE)
