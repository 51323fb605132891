"""The System tab tells what the run was computed on, its packages, and which differ from those here."""

from __future__ import annotations

from pathlib import Path

from pytestqt.qtbot import QtBot

from studio.state.context import AppContext
from tests.studio.window_driver import open_window, run_page
from tests.training.tiny import tiny
from training.environment import Environment
from training.events import AttemptStarted
from training.runs.folder import RunFolder, create_run
from training.runs.records.history import EventLog
from training.runs.records.packages import keep_packages
from training.system.installed import Package, list_packages


def make_run(workspace: Path, *, listed: bool) -> RunFolder:
    folder = create_run(workspace, tiny())
    packages = (Package("alpha", "1.0", "index"), *list_packages())
    digest = keep_packages(folder, packages) if listed else None
    log = EventLog(folder.events_file)
    environment = Environment(device="cpu", threads=3, torch="2.9", packages=digest)
    log.emit(
        AttemptStarted(
            attempt=1, step=0, total_steps=24, steps_per_epoch=8, epochs=3, device="cpu", environment=environment
        )
    )
    log.close()
    return folder


def test_the_environment_and_what_differs_here_are_shown(qtbot: QtBot, context: AppContext) -> None:
    page = run_page(open_window(qtbot, context))
    context.open_run(make_run(context.workspace, listed=True).path, "system")
    card = page.system.environment
    qtbot.waitUntil(lambda: bool(card.model.rows))
    assert len(card.model.rows) == len(list_packages()) + 1
    card.differing.setChecked(True)
    assert [tuple(row) for row in card.model.rows] == [("alpha", "1.0", "")]
    assert "differ here: 1. Shown: 1." in card.words.text()
    card.filter.setText("beta")
    assert "Shown: 0." in card.words.text()


def test_a_run_without_a_list_says_what_to_do(qtbot: QtBot, context: AppContext) -> None:
    page = run_page(open_window(qtbot, context))
    context.open_run(make_run(context.workspace, listed=False).path, "system")
    card = page.system.environment
    qtbot.waitUntil(lambda: "kept no list of its packages" in card.words.text())
    assert not card.packages.isVisible()
    assert card.facts.isVisible()
