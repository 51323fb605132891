"""Commands beside the window: how a process that was killed is told from one that refused."""

from __future__ import annotations

import os
import sys

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from studio.engine import side_command
from studio.engine.side_command import Answer, SideCommand

pytestmark = pytest.mark.skipif(os.name != "posix", reason="only there a process is killed by a signal")


@pytest.mark.parametrize(
    ("end", "code", "was_killed"), [("os.kill(os.getpid(), 9)", -1, True), ("sys.exit(2)", 2, False)]
)
def test_a_killed_process_is_told_from_one_that_refused(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, end: str, code: int, was_killed: bool
) -> None:
    program = [sys.executable, "-c", f"import os, sys; print('at work', file=sys.stderr, flush=True); {end}"]
    monkeypatch.setattr(side_command, "engine_program", lambda _python: program)
    told: list[Answer] = []
    parent = QObject()
    SideCommand(parent, "", [], told.append)
    qtbot.waitUntil(lambda: bool(told))
    assert told == [Answer(code, "", "at work", was_killed)]
