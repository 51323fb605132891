"""A teacher that brings code: the form shows it and asks, whether it is a file or the network of a run from elsewhere."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QDialog, QLabel, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from studio.forms.consent_editor import ConsentDialog
from studio.forms.field_row import FieldRow
from studio.forms.section_form import SectionForm
from studio.state.drafts.draft import Draft
from training.config import parse_config
from training.config.consent import is_agreed
from training.config.files import config_data, dump_config
from training.runs.records.manifest import FORMAT, MANIFEST, STATE, WEIGHTS, seal
from training.system.atomic import write_text

TEACHER = '''
raise SystemExit("nobody agreed to this")


def build(features: int, classes: int, width: int = 6):
    """A teacher."""
'''
DIGEST = hashlib.sha256(TEACHER.encode()).hexdigest()


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the dialogs showed before the person agreed."""
    texts: list[str] = []

    def accept(dialog: ConsentDialog) -> int:
        text = dialog.findChild(QPlainTextEdit)
        assert text is not None
        texts.append(text.toPlainText())
        return QDialog.DialogCode.Accepted.value

    monkeypatch.setattr(ConsentDialog, "exec", accept)
    return texts


def form_of_a_pupil(qtbot: QtBot, teacher: Path) -> tuple[Draft, SectionForm]:
    draft = Draft()
    draft.set_kind("dataset", "blobs")
    draft.set_kind("model", "mlp")
    form = SectionForm(draft, "objective")
    qtbot.addWidget(form)
    draft.set_kind("objective", "distillation")
    draft.set("objective.teacher", str(teacher))
    return draft, form


def consent(form: SectionForm) -> tuple[FieldRow, QPushButton, str]:
    """The row, its button, and what stands beside that."""
    row = form.rows()["objective.teacher_trusted"]
    button, status = row.editor.findChild(QPushButton), row.editor.findChild(QLabel)
    assert button is not None
    assert status is not None
    return row, button, status.text()


def a_run_from_elsewhere(folder: Path, code: str) -> Path:
    """A checkpoint as far as its manifest tells, in a run that keeps ``code``."""
    model = {"kind": "user_file", "path": "/somewhere/net.py", "trusted": DIGEST}
    config = parse_config({"dataset": {"kind": "blobs"}, "model": model}, paths=False)
    checkpoint = folder / "run" / "checkpoints" / "step-00000002"
    checkpoint.mkdir(parents=True)
    write_text(folder / "run" / "network.py", code)
    write_text(folder / "run" / "config.toml", dump_config(config))
    files = {name: {"bytes": 0, "sha256": ""} for name in (WEIGHTS, STATE)}
    manifest: dict[str, Any] = {"format": FORMAT, "step": 2, "epoch": 1, "files": files, "data": {"fingerprint": ""}}
    write_text(checkpoint / MANIFEST, json.dumps(seal(manifest | {"config": config_data(config)})))
    return checkpoint


def test_a_file_is_shown_and_asked_for(qtbot: QtBot, tmp_path: Path, shown: list[str]) -> None:
    file, weights = tmp_path / "teacher.py", tmp_path / "teacher.pth"
    file.write_text(TEACHER, encoding="utf-8")
    weights.touch()
    draft, form = form_of_a_pupil(qtbot, file)
    row, button, status = consent(form)
    assert status == "Not yet"
    assert "Needs your consent" in row.sentence
    assert form.rows()["objective.teacher_arguments.width"].editor.value() == 6
    assert "the weights that it was trained to" in form.rows()["objective.teacher_weights"].sentence
    draft.set("objective.teacher_weights", str(weights))
    assert draft.config() is None
    button.click()
    assert shown == [TEACHER]
    assert (draft.value("objective.teacher_trusted"), is_agreed(DIGEST)) == (DIGEST, True)
    assert consent(form)[2].startswith("Agreed to ")
    assert draft.config() is not None


def test_the_code_of_a_run_from_elsewhere_is_too(qtbot: QtBot, tmp_path: Path, shown: list[str]) -> None:
    checkpoint = a_run_from_elsewhere(tmp_path, TEACHER)
    draft, form = form_of_a_pupil(qtbot, checkpoint)
    row, button, status = consent(form)
    assert status == "Not yet"
    assert "Nobody has agreed on this computer to run network.py" in row.sentence
    assert draft.config() is None
    button.click()
    assert shown == [TEACHER]
    assert is_agreed(DIGEST)
    assert (row.sentence, consent(form)[2]) == ("", f"Agreed to {DIGEST[:12]}")
    assert draft.config() is not None
    draft.set("objective.teacher", str(tmp_path))  # a folder without a network of anybody's
    assert consent(form)[2] == "Brings no code"
    assert not button.isEnabled()


def test_code_that_is_not_what_was_trained_is_no_teacher(qtbot: QtBot, tmp_path: Path) -> None:
    draft, form = form_of_a_pupil(qtbot, a_run_from_elsewhere(tmp_path, TEACHER + "# changed\n"))
    assert "is not the code that this network was trained with" in form.rows()["objective.teacher"].sentence
    assert draft.config() is None
