"""What a start finds: nothing is said of runs before they were looked at, and the end of one that went on alone is told."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.state.context import AppContext
from studio.widgets import Banner
from studio.window.main_window import MainWindow
from studio.window.start_notices import StartNotices
from tests.studio.conftest import ENDLESS
from tests.studio.window_driver import open_window, press, run_page
from training.config import RunConfig
from training.control import Command
from training.events import AttemptStarted, Completed
from training.runs.folder import RunFolder, claim, create_run, release
from training.runs.records.forms import BestCheckpoint
from training.runs.records.history import EventLog

MakeConfig = Callable[..., RunConfig]


def trained(workspace: Path, config: RunConfig, status: str = "completed", **record: Any) -> RunFolder:
    """A run of 40 steps that ended just now."""
    folder = create_run(workspace, config)
    log = EventLog(folder.events_file)
    log.emit(AttemptStarted(attempt=1, step=0, total_steps=40, steps_per_epoch=20, epochs=2, device="CPU"))
    if status == "completed":
        log.emit(Completed(step=40, reason="all steps done"))
    log.close()
    best = BestCheckpoint(metric="val/accuracy", value=0.9, step=40)
    now = time.time()
    ended = {"status": status, "step": 40, "total_steps": 40, "best": best, "updated": now, "ended": now}
    folder.write_status(folder.status().model_copy(update=ended | record))
    return folder


def told(window: MainWindow) -> list[str]:
    banners = window.controller.notices.findChildren(Banner)
    return [banner.accessibleName() for banner in banners if not banner.isHidden()]


@pytest.mark.parametrize(
    ("status", "record", "words"),
    [
        (
            "completed",
            {},
            "“lab” completed while the window was closed. Step 40 of 40. Best validation accuracy 90.00%.",
        ),
        ("failed", {"reason": "The disk is full."}, "“lab” failed while the window was closed. The disk is full."),
    ],
)
def test_the_end_of_a_run_that_went_on_alone_is_told(
    qtbot: QtBot, context: AppContext, config: MakeConfig, status: str, record: dict[str, Any], words: str
) -> None:
    folder = trained(context.workspace, config(), status, **record)
    context.settings.update(attended=folder.id, closed=time.time() - 60)
    window = open_window(qtbot, context, "setup")
    context.library.refresh()
    qtbot.waitUntil(lambda: bool(told(window)))
    assert told(window)[0].startswith(words)
    assert context.settings.get().attended == ""  # told once
    press(window.controller.notices, "Show run")
    assert window.rail.current() == "run"
    assert context.live.folder == folder
    assert not told(window)


def test_a_run_that_ended_while_another_window_showed_it_did_not_end_while_the_window_was_closed(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    folder = trained(context.workspace, config())
    context.settings.update(attended=folder.id, closed=0.0)  # as the window that shows the run leaves it
    window = open_window(qtbot, context, "setup")
    context.library.refresh()
    qtbot.waitUntil(lambda: bool(told(window)))
    assert told(window)[0].startswith("“lab” completed. Step 40 of 40.")


def test_an_end_that_was_seen_is_not_told_again(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    seen = trained(context.workspace, config())
    context.settings.update(attended=seen.id, closed=time.time() + 60)  # by another window
    window = open_window(qtbot, context, "setup")
    context.start_run(config("mine", epochs=ENDLESS))
    qtbot.waitUntil(lambda: context.live.folder is not None and context.live.state is RunState.TRAINING)
    assert context.settings.get().attended == context.live.folder.id  # type: ignore[union-attr]
    assert context.settings.get().closed == 0.0  # until this window is closed
    context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED)
    assert context.settings.get().attended == ""
    assert not told(window)


def test_the_last_run_is_shown_where_nothing_is_trained_and_then_the_one_that_is(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    last = trained(context.workspace, config("last"))
    page = run_page(open_window(qtbot, context))
    seen: list[str] = []

    def is_shown() -> bool:
        if page.empty.isVisible():  # later looks give it other words behind the run
            seen.append(page.empty.accessibleName())
        return context.live.folder == last

    qtbot.waitUntil(is_shown)
    assert not any("Nothing is being trained" in words for words in seen)
    assert page.header._pill.text() == "Completed"
    elsewhere = trained(context.workspace, config("other"), "running", ended=None)
    claim(elsewhere.path)
    page._look_again.setInterval(50)
    qtbot.waitUntil(lambda: context.live.folder == elsewhere)
    assert "trains it, outside this window" in page.header.owner.text()
    release(elsewhere.path)


def test_a_list_of_runs_that_cannot_be_read_is_told(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError("the drive is gone")

    monkeypatch.setattr(context.library, "_read", fail)
    page = run_page(open_window(qtbot, context))
    qtbot.waitUntil(lambda: "the drive is gone" in [label.text() for label in page.empty.findChildren(QLabel)])
    assert page.empty.button.isVisible()


def test_preferences_of_a_newer_version_are_told_once(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(context.settings), "newer_version", property(lambda _: "9.1.0"))
    notices = StartNotices(context)
    qtbot.addWidget(notices)
    (banner,) = notices.findChildren(Banner)
    assert "Trainwright 9.1.0 wrote them" in banner.accessibleName()
    banner._close.click()
    assert StartNotices(context).findChildren(Banner) == []
