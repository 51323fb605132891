"""A person's own Python file in the form: its parameters as rows, its consent as a dialog, nothing run."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QPlainTextEdit
from pytestqt.qtbot import QtBot

from studio.forms.consent_editor import ConsentDialog, ConsentEditor
from studio.forms.section_form import SectionForm
from studio.state.drafts.draft import Draft
from studio.theme import apply
from studio.widgets import Banner
from training.config.consent import agree, is_agreed

NETWORK = '''
from typing import Literal

raise SystemExit("nobody agreed to this")

def build(channels: int, classes: int, width: int = 16, rate: float = 0.5, activation: Literal["relu", "gelu"] = "relu",
          sizes: tuple[int, int] = (3, 5), *, name: str | None = None, deep: bool = False, layers: int):
    """A network.

    Args:
        width: of the first layer.
    """
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "network.py"
    path.write_text(NETWORK, encoding="utf-8")
    return path


def form_with(qtbot: QtBot, file: Path) -> tuple[Draft, SectionForm]:
    draft = Draft()
    form = SectionForm(draft, "model")
    qtbot.addWidget(form)
    form.show()
    draft.set_kind("model", "user_file")
    draft.set("model.path", str(file))
    return draft, form


def arguments(form: SectionForm) -> dict[str, str]:
    return {path.rpartition(".")[2]: row.spec.editor for path, row in form.rows().items() if "arguments" in path}


def test_parameters_become_rows(qtbot: QtBot, file: Path) -> None:
    draft, form = form_with(qtbot, file)
    assert arguments(form) == {
        "width": "int",
        "rate": "float",
        "activation": "choice",
        "sizes": "numbers",
        "name": "text",
        "deep": "bool",
        "layers": "int",
    }
    row = form.rows()["model.arguments.width"]
    assert row.isVisibleTo(form)
    assert (row.editor.value(), row.spec.help) == (16, "of the first layer.")
    assert form.rows()["model.arguments.layers"].sentence == "Enter a number."
    row.editor.set_value(32)
    row.editor.edited.emit()
    assert draft.settings()["model"]["arguments"] == {"width": 32}
    assert row.is_changed
    draft.undo()
    assert row.editor.value() == 16
    draft.redo()
    draft.set("model.arguments.width", 16)  # its default
    assert draft.settings()["model"]["arguments"] == {}
    draft.set("model.arguments.width", "wide")
    assert row.sentence
    draft.reset("model.arguments.width")
    assert not row.is_changed


def test_another_file_has_other_rows(qtbot: QtBot, file: Path, tmp_path: Path) -> None:
    draft, form = form_with(qtbot, file)
    other = tmp_path / "other.py"
    other.write_text("def build(classes: int, depth: int = 2): ...\n", encoding="utf-8")
    draft.set("model.path", str(other))
    assert arguments(form) == {"depth": "int"}
    other.write_text("def build(classes: int, depth: int = ...\n", encoding="utf-8")
    draft.recheck()
    assert "line 1" in form.rows()["model.path"].sentence
    other.write_text("def build(classes: int, width: int = 4): ...\n", encoding="utf-8")
    draft.recheck()  # what coming back to the window asks for
    assert arguments(form) == {"width": "int"}
    draft.set_kind("model", "mlp")
    assert arguments(form) == {}


def test_a_dialog_shows_the_file_and_asks(qtbot: QtBot, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft, form = form_with(qtbot, file)
    draft.set("model.arguments.layers", 2)
    row = form.rows()["model.trusted"]
    editor = row.editor
    assert isinstance(editor, ConsentEditor)
    assert row.sentence == "Needs your consent: read network.py, then agree to run it."  # no option of the command line
    assert row.spec.title == "Permission to run"
    assert editor._button.property("invalid")  # what a preview calls highlighted
    assert draft.config() is None
    digest, shown = hashlib.sha256(NETWORK.encode()).hexdigest(), []

    def answer(dialog: ConsentDialog, code: QDialog.DialogCode) -> int:
        text = dialog.findChild(QPlainTextEdit)
        assert text is not None
        shown.append(text.toPlainText())
        return code.value

    monkeypatch.setattr(ConsentDialog, "exec", lambda dialog: answer(dialog, QDialog.DialogCode.Rejected))
    editor._button.click()
    assert (draft.value("model.trusted"), is_agreed(digest)) == (None, False)
    monkeypatch.setattr(ConsentDialog, "exec", lambda dialog: answer(dialog, QDialog.DialogCode.Accepted))
    editor._button.click()
    assert shown == [NETWORK, NETWORK]
    assert (draft.value("model.trusted"), is_agreed(digest)) == (digest, True)
    assert row.sentence == ""
    assert not editor._button.property("invalid")
    assert draft.config() is not None
    file.write_text(NETWORK + "# changed\n", encoding="utf-8")
    draft.recheck()
    assert "has changed since you agreed" in row.sentence
    assert draft.config() is None


def test_what_was_agreed_to_is_read_whole_in_a_window_of_usual_size(
    qtbot: QtBot, qapp: QApplication, file: Path
) -> None:
    apply(qapp, "light")  # in the program's own type
    _draft, form = form_with(qtbot, file)
    form.resize(468, 700)
    editor = form.rows()["model.trusted"].editor
    assert isinstance(editor, ConsentEditor)
    digest = hashlib.sha256(NETWORK.encode()).hexdigest()
    agree(digest, str(file))
    editor.set_value(digest)
    assert editor._status.text() == f"Agreed to {digest[:12]}"
    qtbot.waitUntil(lambda: editor._button.width() == editor._button.sizeHint().width())
    assert editor.control.minimumSizeHint().width() <= editor.width()


def test_a_digest_in_a_file_is_no_consent_in_the_window(qtbot: QtBot, file: Path, tmp_path: Path) -> None:
    digest = hashlib.sha256(NETWORK.encode()).hexdigest()
    config = tmp_path / "stranger.toml"
    config.write_text(
        f'[model]\nkind = "user_file"\npath = "network.py"\ntrusted = "{digest}"\n[model.arguments]\nlayers = 3\n',
        encoding="utf-8",
    )
    draft, form = form_with(qtbot, file)
    draft.load_file(config)
    assert draft.value("model.arguments.layers") == 3
    assert "Nobody has agreed on this computer" in form.rows()["model.trusted"].sentence


def shown_in_dialog(qtbot: QtBot, code: str) -> tuple[ConsentDialog, QPlainTextEdit]:
    content = code.encode()
    dialog = ConsentDialog(Path("network.py"), content, hashlib.sha256(content).hexdigest())
    qtbot.addWidget(dialog)
    dialog.show()
    text = dialog.findChild(QPlainTextEdit)
    assert text is not None
    return dialog, text


@pytest.mark.parametrize(
    "hidden",
    ["\u202a", "\u202e", "\u2066", "\u2069", "\u200b", "\u200d", "\u200f", "\ufeff", "\u3164", "\u00a0", "\U000e0041"],
)
def test_what_cannot_be_seen_is_shown_as_its_escape_and_told(qtbot: QtBot, hidden: str) -> None:
    dialog, text = shown_in_dialog(qtbot, f"plain = 'é語'\nif access != 'user{hidden}':\n\tbegin({hidden!r})\n")
    escape = ascii(hidden)[1:-1]
    assert f"'user{escape}':\n" in text.toPlainText()
    assert hidden not in text.toPlainText()
    assert "plain = 'é語'\n" in text.toPlainText()
    [banner] = dialog.findChildren(Banner)
    told = " ".join(label.text() for label in banner.findChildren(QLabel))
    assert "hidden character" in told


def test_plain_code_is_shown_without_a_warning(qtbot: QtBot) -> None:
    dialog, text = shown_in_dialog(qtbot, "\ufeffone = 1\r\n\ttwo = 'ä'\n# note\rtwo = 2\n")
    assert text.toPlainText() == "one = 1\n\ttwo = 'ä'\n# note\ntwo = 2\n"  # as Python reads it
    assert dialog.findChildren(Banner) == []


@pytest.mark.parametrize("filler", [" ", "x", "\t"])
def test_the_end_of_a_long_line_is_in_sight(qtbot: QtBot, filler: str) -> None:
    _dialog, text = shown_in_dialog(qtbot, f"harmless = 1{filler * 400};import os\n")
    text.moveCursor(QTextCursor.MoveOperation.Start)
    first = text.cursorRect().top()
    text.moveCursor(QTextCursor.MoveOperation.EndOfBlock)
    assert text.horizontalScrollBar().maximum() == 0
    assert text.viewport().rect().contains(text.cursorRect())
    assert text.cursorRect().top() > first
