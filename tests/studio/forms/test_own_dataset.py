"""A person's own Dataset in the form: its parameters as rows, its consent as a dialog, nothing run in the window's process."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot

from studio.forms.consent_editor import ConsentDialog, ConsentEditor
from studio.forms.section_form import SectionForm
from studio.state.drafts.draft import Draft
from training.config.consent import agree, is_agreed

FILE = '''
raise SystemExit("nobody agreed to this")

def build(split: str, count: int = 600, noise: float = 0.2):
    """Waves.

    count: how many to train with
    """
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.py"
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["user_dataset", "user_images"])
def test_parameters_become_rows_and_the_file_needs_a_yes(
    kind: str, qtbot: QtBot, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = Draft()
    form = SectionForm(draft, "dataset")
    qtbot.addWidget(form)
    form.show()
    draft.set_kind("dataset", kind)
    draft.set("dataset.path", str(file))
    rows = {path.rpartition(".")[2]: row for path, row in form.rows().items() if ".arguments." in path}
    assert {name: (row.spec.editor, row.editor.value()) for name, row in rows.items()} == {
        "count": ("int", 600),
        "noise": ("float", 0.2),
    }
    assert rows["count"].spec.help == "how many to train with"
    rows["count"].editor.set_value(80)
    rows["count"].editor.edited.emit()
    assert draft.settings()["dataset"]["arguments"] == {"count": 80}
    trusted = form.rows()["dataset.trusted"]
    assert trusted.sentence == "Needs your consent: read data.py, then agree to run it."
    monkeypatch.setattr(ConsentDialog, "exec", lambda _dialog: QDialog.DialogCode.Accepted)
    editor = trusted.editor
    assert isinstance(editor, ConsentEditor)
    editor._button.click()
    digest = hashlib.sha256(FILE.encode()).hexdigest()
    assert is_agreed(digest)
    assert draft.settings()["dataset"]["trusted"] == digest
    assert not [problem for problem in draft.problems() if problem.path.startswith("dataset.")]


def test_a_file_without_split_is_told_beside_the_field(qtbot: QtBot, file: Path) -> None:
    file.write_text("def build(count: int = 3): ...\n", encoding="utf-8")
    agree(hashlib.sha256(file.read_bytes()).hexdigest(), str(file))
    draft = Draft()
    draft.set_kind("dataset", "user_dataset")
    draft.set("dataset.path", str(file))
    told = {problem.path: problem.message for problem in draft.problems()}
    assert "line 1: build has no parameter split; write for example def build(split: str" in told["dataset.path"]
