"""A run in several processes outlives the window that began it, or is kept: as the person has chosen."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from studio.engine.shared_run import SharedRun
from training.config import parse_config
from training.control import Command, send
from training.protocol.messages import Refusal
from training.runs.folder import RunFolder, create_run, owner_of
from training.runs.records.series import STEP_ROW, count_rows

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="torch's launcher does not work on Windows")

WINDOW = """
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from studio.engine.shared_run import SharedRun
from training.runs.folder import RunFolder
app = QCoreApplication([])
run = SharedRun("", Path(sys.argv[1]).parent, app)
run.begin(RunFolder(Path(sys.argv[1])), [sys.argv[1], "--made"], 2, keep_training=sys.argv[2] == "keep")
app.exec()
"""


def await_(look: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not look():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.1)


@pytest.fixture
def run(isolated_home: Path) -> RunFolder:
    loop = {"epochs": 100_000, "slots": 2}
    config: dict[str, Any] = {
        "name": "two",
        "dataset": {"kind": "shapes", "samples": 300},
        "loop": loop,
        "precision": {"threads": 1},
    }
    return create_run(isolated_home / "workspace", parse_config(config))


def test_a_python_that_cannot_be_started_refuses_and_leaves_nothing(
    qtbot: QtBot, run: RunFolder, qapp: QObject
) -> None:
    shared = SharedRun("/no/such/python", run.path.parent, qapp)
    with qtbot.waitSignal(shared.ended) as told:
        shared.begin(run, [str(run.path), "--made"], 2, keep_training=False)
    assert told.args is not None
    (refusal,) = told.args
    assert isinstance(refusal, Refusal)
    assert "/no/such/python" in str(refusal)
    assert not run.path.exists()


def test_a_run_that_was_trained_before_stays_where_it_cannot_go_on(
    qtbot: QtBot, run: RunFolder, qapp: QObject, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'loop.slots: it cannot be shared.' >&2\nexit 2\n")
    python.chmod(0o755)
    run.events_file.write_text("{}\n")
    shared = SharedRun(str(python), tmp_path, qapp)
    with qtbot.waitSignal(shared.ended) as told:
        shared.begin(run, [str(run.path)], 2, keep_training=True)
    assert told.args is not None
    assert str(told.args[0]) == "loop.slots: it cannot be shared."
    assert run.path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["keep", "stop"])
def test_the_window_is_killed(run: RunFolder, what: str) -> None:
    window = subprocess.Popen([sys.executable, "-c", WINDOW, str(run.path), what], env=os.environ.copy())
    try:
        await_(lambda: count_rows(run.series_file, STEP_ROW) > 3)
    finally:
        window.kill()
        window.wait()
    if what == "keep":
        steps = count_rows(run.series_file, STEP_ROW)
        await_(lambda: count_rows(run.series_file, STEP_ROW) > steps + 20)
        send(run.path, Command.STOP)
    await_(lambda: run.status().status == "stopped" and owner_of(run.path) is None)
    assert run.status().last_checkpoint is not None
