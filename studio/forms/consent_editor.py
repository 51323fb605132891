"""Consent to running a file of code: what the file is, and a dialog that shows it before anybody agrees."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QWidget

from studio.forms.editor import Editor
from studio.forms.messages import tell_digest
from studio.theme import SPACING, set_invalid
from studio.widgets import STRETCH, Banner, button, hand_keyboard_on, hbox, in_widget, label, vbox
from training.config.consent import agree, is_agreed
from training.config.field_spec import FieldSpec
from training.errors import InputError, pluralize
from training.runs.cli_consent import Code, code_of
from training.runs.export_consent import PROGRAM
from training.runs.records.manifest import digest as digest_of
from training.system.untrusted import MEGABYTE, escape_unprintable, read_bytes, visible_code

_HIDDEN = (
    "Invisible ones, or ones that turn the direction of writing, can make code look like other code. They are shown below "
    "as escapes, such as \\u202e."
)
_NO_TEXT = "A program of torch.export: its code is packed, and cannot be shown here."
_WHOSE = ("you wrote, or have read and understood", "you exported yourself, or whose author you trust")


class ConsentDialog(QDialog):
    """Shows a file and asks whether its code may be run. ``content`` is None of a program that is no text."""

    def __init__(self, path: Path, content: bytes | None, digest: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Run this file?")
        self.resize(760, 560)
        text = QPlainTextEdit(readOnly=True)
        text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        text.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)  # else a line's end could lie out of sight
        shown, unseen = (_NO_TEXT, 0) if content is None else visible_code(content.decode("utf-8", errors="replace"))
        text.setPlainText(shown)
        text.setAccessibleName(f"Content of {path.name}")
        self.agree_button = button("Trust and run", "check", "primary", clicked=self.accept)
        cancel = button("Cancel", clicked=self.reject)
        cancel.setDefault(True)
        warning = (
            f"It can do whatever you can do on this computer. Agree only to code that {_WHOSE[content is None]}. "
            "You will be asked again when the file changes."
        )
        hidden = (
            [Banner("warning", f"This file holds {pluralize(unseen, 'hidden character')}", _HIDDEN)] if unseen else []
        )
        vbox(
            label(f"Run the code in {escape_unprintable(path.name, 100)}?", "section"),
            label(warning, wrap=True),
            label(escape_unprintable(str(path), 300), "help", wrap=True, selectable=True),
            *hidden,
            (text, 1),
            label(f"SHA-256 {digest}", "help", wrap=True, selectable=True),
            hbox(STRETCH, cancel, self.agree_button),
            parent=self,
            margins=SPACING.l,
        )
        text.setFocus(Qt.FocusReason.OtherFocusReason)


def ask_to_run(path: Path, parent: QWidget | None) -> str:
    """Show the file and ask; the digest that was agreed to and is kept, "" where nobody agreed. Raises InputError for a file
    that cannot be read, and where the answer cannot be kept."""
    try:
        content = None if path.suffix == PROGRAM else read_bytes(path, MEGABYTE)
        digest = digest_of(path) if content is None else hashlib.sha256(content).hexdigest()
    except OSError as error:
        raise InputError(f"Cannot be read: {error.strerror or error}") from error
    dialog = ConsentDialog(path, content, digest, parent)
    wanted = dialog.exec() == QDialog.DialogCode.Accepted
    dialog.deleteLater()
    if not wanted:
        return ""
    try:
        agree(digest, str(path))
    except OSError as error:
        raise InputError(f"Cannot be kept: {error.strerror or error}") from error
    return digest


class ConsentEditor(Editor):
    """The digest that was agreed to, and a button that shows the file and asks. The other setting names the file, or a
    checkpoint whose network is written in one."""

    def __init__(self, spec: FieldSpec) -> None:
        self._of = spec.consent
        self._bare = False
        self._code: Code | None = None
        self._digest: str | None = None
        self._status = label("", "help", wrap=True)
        self._button = button("Look at the file…", "eye", clicked=self._ask)
        super().__init__(in_widget(hbox(self._button, (self._status, 1))), stretch=True)
        hand_keyboard_on(self, self._button)

    def value(self) -> Any:
        return self._digest

    def follow(self, values: Mapping[str, JsonValue]) -> None:
        text = values.get(self._of)
        named = Path(text) if isinstance(text, str) and text else None
        self._code = _code(named) if named else None
        self._bare = named is not None and self._code is None and named.is_dir()
        self._update()

    def set_invalid(self, invalid: bool) -> None:
        set_invalid(self._button, invalid)

    def describe(self, name: str, description: str) -> None:
        super().describe(name, description)
        self._button.setAccessibleDescription(description)

    def _show(self, value: Any) -> None:
        self._digest = value if isinstance(value, str) and value else None
        self._update()

    def _update(self) -> None:
        code = self._code
        self._button.setEnabled(code is not None and code.file.is_file())
        # A run says which file its network was trained with.
        digest = self._digest if code is None or code.digest is None else code.digest
        if self._bare:
            self._status.setText("Brings no code")
        else:
            self._status.setText(f"Agreed to {tell_digest(digest)}" if digest and is_agreed(digest) else "Not yet")

    def _ask(self) -> None:
        if self._code is None:
            return
        try:
            digest = ask_to_run(self._code.file, self)
        except InputError as error:
            self._status.setText(error.message)
            return
        if not digest:
            return
        self._digest = digest
        self._update()
        self.edited.emit()
        self.finished.emit()


def _code(named: Path) -> Code | None:
    """The code to be agreed to; None where there is none, or as long as nothing readable is named."""
    try:
        return code_of(named)
    except (InputError, OSError):
        return None
