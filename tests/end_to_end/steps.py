"""What the tests of the whole program wait for."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.state.context import AppContext
from training.runs.folder import RunFolder
from training.runs.records.series import read_series

LONG = 60_000  # milliseconds: loading torch on a busy machine


def ended(qtbot: QtBot, context: AppContext, state: RunState) -> RunFolder:
    """The folder of the run shown, once it has ended as ``state``."""
    qtbot.waitUntil(lambda: context.live.state is state and not context.engine.training, timeout=LONG)
    assert context.live.folder is not None
    return context.live.folder


def at_work(qtbot: QtBot, context: AppContext, step: int = 3) -> RunFolder:
    """The folder of the run shown, once it has come to ``step``."""
    qtbot.waitUntil(lambda: context.live.progress.step >= step, timeout=LONG)
    assert context.live.folder is not None
    return context.live.folder


def steps(folder: RunFolder) -> list[int]:
    """The steps in the run's series."""
    return [int(step) for step in read_series(folder.series_file)["step"]]


def wait_for_steps(workspace: Path, program: subprocess.Popen[bytes]) -> RunFolder:
    """The folder of the run that ``program`` trains, once it has made a few steps."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        assert program.poll() is None, "the program ended before it trained"
        for path in workspace.glob("runs/*"):
            if len(read_series(path / "series.bin")) > 5:
                return RunFolder(path)
        time.sleep(0.1)
    raise AssertionError("no run made a step")
