"""What the desktop is told while the window is not looked at."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from studio.engine.state import ENDED
from studio.state.context import AppContext
from studio.window.desktop import Desktop
from studio.window.main_window import MainWindow
from tests.studio.queue_driver import add
from tests.studio.window_driver import open_window
from training.config import RunConfig
from training.queue.store import Queue

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other desktops are told by Qt")
MakeConfig = Callable[..., RunConfig]

NOTIFY_SEND = """#!/bin/sh
printf '%s\\n' "$@" >> "$HOME/notices"
if [ "$1" = --action=default=Show ]; then
    if [ -e "$HOME/old" ]; then exit 1; fi
    if [ -e "$HOME/click" ]; then echo default; fi
fi
"""


@pytest.fixture
def window(
    qtbot: QtBot, context: AppContext, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[MainWindow, Desktop]:
    """One that nobody looks at, on a desktop that writes down what it is told."""
    programs = isolated_home / "bin"
    programs.mkdir()
    (programs / "notify-send").write_text(NOTIFY_SEND)
    (programs / "notify-send").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(QGuiApplication, "applicationState", lambda: Qt.ApplicationState.ApplicationInactive)
    made = open_window(qtbot, context, "setup")
    return made, Desktop(context, made)


def read(home: Path) -> list[list[str]]:
    """The title and the text of each notice, behind its options."""
    if not (home / "notices").exists():
        return []
    notices = (home / "notices").read_text().split("--action=default=Show\n")[1:]
    return [notice.split("--\n")[1].splitlines() for notice in notices]


def finish(qtbot: QtBot, context: AppContext, config: RunConfig) -> None:
    context.start_run(config)
    qtbot.waitUntil(lambda: context.live.state in ENDED and not context.engine.training)


def test_the_end_of_a_run_is_told_and_a_click_shows_it(
    qtbot: QtBot, context: AppContext, window: tuple[MainWindow, Desktop], config: MakeConfig, isolated_home: Path
) -> None:
    (isolated_home / "click").touch()
    context.start_run(config("A & B"))
    context.show_page("setup")
    qtbot.waitUntil(lambda: context.live.state in ENDED and not context.engine.training)
    qtbot.waitUntil(lambda: len(read(isolated_home)) == 1 and window[0].rail.current() == "run")
    [(title, text)] = read(isolated_home)
    assert title == "“A & B” completed"
    assert text.startswith("Step 40 of 40.")
    assert "--urgency=normal" in (isolated_home / "notices").read_text()


def test_a_failure_stays_until_it_is_put_away_also_by_an_old_program(
    qtbot: QtBot, context: AppContext, window: tuple[MainWindow, Desktop], config: MakeConfig, isolated_home: Path
) -> None:
    (isolated_home / "old").touch()
    finish(qtbot, context, config("fails"))
    told = isolated_home / "notices"
    qtbot.waitUntil(lambda: told.exists() and told.read_text().count("“fails” failed") == 2)
    first, second = told.read_text().split("--action=default=Show\n")[1].split("--app-name=Trainwright\n")[1:]
    assert first == second, "the same words without the answer that it does not know"
    assert "--urgency=critical" in first


def test_nothing_is_told_to_who_looks_or_does_not_want_it(
    qtbot: QtBot,
    context: AppContext,
    window: tuple[MainWindow, Desktop],
    config: MakeConfig,
    isolated_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context.settings.update(notify=False)
    finish(qtbot, context, config())
    context.settings.update(notify=True)
    monkeypatch.setattr(QGuiApplication, "applicationState", lambda: Qt.ApplicationState.ApplicationActive)
    finish(qtbot, context, config())
    monkeypatch.setattr(QGuiApplication, "applicationState", lambda: Qt.ApplicationState.ApplicationInactive)
    finish(qtbot, context, config("third"))
    qtbot.waitUntil(lambda: bool(read(isolated_home)))
    assert [title for title, *_ in read(isolated_home)] == ["“third” completed"]


def test_the_end_of_the_queue_is_told_once_all_had_their_turn(
    qtbot: QtBot, context: AppContext, window: tuple[MainWindow, Desktop], isolated_home: Path
) -> None:
    first, second = add(context.workspace, "one", "two")
    context.queue.refresh()
    qtbot.waitUntil(lambda: len(context.queue.overview.shown) == 2)
    queue = Queue(context.workspace)
    queue.note(first.id, state="done")
    context.queue.refresh()
    qtbot.waitUntil(lambda: len(context.queue.overview.list_state("done")) == 1)
    assert not read(isolated_home)
    queue.note(second.id, state="failed")
    context.queue.refresh()
    qtbot.waitUntil(lambda: bool(read(isolated_home)))
    assert read(isolated_home) == [["The queue is done", "2 runs, 1 failed."]]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("dbus-run-session") is None, reason="needs dbus-run-session and dbus-monitor")
def test_the_taskbar_is_told_how_far_a_run_is(tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text(
        "from PySide6.QtCore import QCoreApplication\n"
        "from studio.services.taskbar import show_progress\n"
        "app = QCoreApplication([])\n"
        "show_progress(0.25)\nshow_progress(None)\n"
    )
    listen = (
        "dbus-monitor --session interface=com.canonical.Unity.LauncherEntry > heard & "
        "until grep -q NameLost heard; do sleep 0.1; done; "  # it hears everything from here on
        f"{sys.executable} show.py; "
        "for _ in 1 2 3 4 5 6 7 8 9; do grep -q 'boolean false' heard && break; sleep 1; done; kill %1"
    )
    root = str(Path(__file__).resolve().parents[3])
    subprocess.run(
        ["dbus-run-session", "--", "bash", "-c", listen],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
        timeout=120,
        check=False,
        capture_output=True,
    )
    heard = (tmp_path / "heard").read_text()
    assert 'string "application://io.github.trainwright.Trainwright.desktop"' in heard
    assert "double 0.25" in heard
    assert heard.count("member=Update") == 2
