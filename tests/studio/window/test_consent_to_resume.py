"""Going on with a run whose code nobody agreed to on this computer: the window shows it and asks, and a No changes nothing."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.forms.consent_editor import ConsentDialog
from studio.state.context import AppContext
from studio.widgets import Banner
from tests.studio.window_driver import answer_next_dialog, open_by_enter, open_window, press, runs_page
from training.config import parse_config
from training.config.consent import agree, is_agreed
from training.runs.folder import RunFolder, create_run
from training.runs.records.manifest import FORMAT, MANIFEST, STATE, WEIGHTS, seal
from training.system.atomic import write_text

CODE = "def build(features: int, outputs: int): ...\n"
TEACHER = "def build(features: int, classes: int): ...\n"
DIGEST, TEACHERS = (hashlib.sha256(code.encode()).hexdigest() for code in (CODE, TEACHER))


@pytest.fixture
def folder(workspace: Path, tmp_path: Path) -> RunFolder:
    """A run of a person's own network and of their own teacher, that was cut off. The network's file is in the run alone."""
    teacher = tmp_path / "teacher.py"
    teacher.write_text(TEACHER, encoding="utf-8")
    model = {"kind": "user_file", "path": str(tmp_path / "gone.py"), "trusted": DIGEST}
    objective = {"kind": "distillation", "teacher": str(teacher), "teacher_trusted": TEACHERS}
    data: dict[str, Any] = {
        "name": "own",
        "model": model,
        "objective": objective,
        "loop": {"batch_size": 10, "epochs": 1000},
    }
    made = create_run(workspace, parse_config(data, paths=False))
    made.code_file.write_text(CODE, encoding="utf-8")
    made.write_status(made.status().model_copy(update={"status": "running"}))
    return made


def test_the_banner_of_the_start_asks_for_each_file_and_a_no_changes_nothing(
    qtbot: QtBot, context: AppContext, folder: RunFolder
) -> None:
    window = open_window(qtbot, context, "setup")
    context.library.refresh()
    qtbot.waitUntil(lambda: bool(window.controller.notices.findChildren(Banner)), timeout=10000)
    (banner,) = window.controller.notices.findChildren(Banner)
    files = sorted(path.relative_to(folder.path) for path in folder.path.rglob("*"))

    shown = answer_next_dialog(qtbot, ConsentDialog, "Cancel")
    press(banner, "Start over")
    assert "Run the code in network.py?" in shown[0]
    assert DIGEST in shown[0]
    assert not is_agreed(DIGEST)
    assert banner.isVisible()
    assert (context.live.folder, context.engine.training, window.rail.current()) == (None, False, "setup")
    assert sorted(path.relative_to(folder.path) for path in folder.path.rglob("*")) == files

    agree(DIGEST, "network.py")  # what is left to ask for is the teacher's code
    shown = answer_next_dialog(qtbot, ConsentDialog, "Trust and run")
    press(banner, "Start over")
    assert "Run the code in teacher.py?" in shown[0]
    assert is_agreed(TEACHERS)
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING, timeout=20000)
    assert not banner.isVisible()
    assert context.live.folder == folder


def test_runs_asks_too_and_not_for_code_that_is_another_now(
    qtbot: QtBot, context: AppContext, folder: RunFolder, tmp_path: Path
) -> None:
    (tmp_path / "teacher.py").write_text(TEACHER + "# changed\n", encoding="utf-8")  # which the engine refuses
    checkpoint = folder.checkpoints / "step-00000003"
    checkpoint.mkdir(parents=True)
    files = {name: {"bytes": 0, "sha256": ""} for name in (WEIGHTS, STATE)}
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "step": 3,
        "epoch": 0,
        "files": files,
        "config": {},
        "data": {"fingerprint": ""},
    }
    write_text(checkpoint / MANIFEST, json.dumps(seal(manifest)))
    window = open_window(qtbot, context, "runs")
    page = runs_page(window)
    qtbot.waitUntil(lambda: page.model.rowCount() == 1, timeout=10000)
    resume = open_by_enter(qtbot, window, folder.id).checkpoints.resume.main
    qtbot.waitUntil(resume.isEnabled, timeout=10000)
    shown = answer_next_dialog(qtbot, ConsentDialog, "Trust and run")
    resume.click()
    assert ["network.py" in text for text in shown] == [True]
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING, timeout=20000)
    assert window.rail.current() == "run"
