"""Studies' folders written on the spot, and commands beside the window that the test answers itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from studio.engine.side_command import Answer
from studio.pages.studies.finders.tab import StudiesTab
from studio.pages.studies.page import StudiesPage
from studio.services.notifier import Notification
from studio.state.context import AppContext
from studio.window.main_window import MainWindow
from tests.studio.window_driver import open_window
from training.config import RunConfig, parse_config
from training.studies.folder import StudyFolder, create_study, make_plan
from training.studies.records import Cost, Draft, Kind, Options, Result

COST = Cost(step=0.01, validation=0.1, start=1.0, steps=100, steps_per_epoch=10, validations=10, checkpoint=1000)


@dataclass
class FakeCommand:
    """Stands for a process beside the window; ``answer`` ends it."""

    words: list[str]
    told: Callable[[Answer], object]
    stopped: bool = False
    killed: bool = False
    pid: int = 0

    def stop(self) -> None:
        """What a person asked for; the test says when it has come about."""
        self.stopped = True

    def kill(self) -> None:
        """What a person asked for who will not wait."""
        self.killed = True

    def answer(self, code: int = 0, out: str = "", error: str = "") -> None:
        """It has ended."""
        self.told(Answer(code, out, error))

    def plan(self, workspace: Path) -> StudyFolder:
        """It has planned a study, as ``study --plan`` does."""
        config = parse_config({"name": "lab"})
        study = make_study(workspace, self.words[1], config)  # type: ignore[arg-type]
        self.answer(0, json.dumps({"study": study.id, "folder": str(study.path), "status": "planned"}) + "\n")
        return study


@dataclass
class Commands:
    """All that was begun, the newest last."""

    every: list[FakeCommand] = field(default_factory=list)

    def make(
        self,
        _parent: QObject,
        _python: str,
        words: Sequence[str],
        told: Callable[[Answer], object],
        text: str = "",
        hold: bool = False,
    ) -> FakeCommand:
        """In place of the constructor of a SideCommand."""
        assert hold
        assert words[-1] == "--while-held"
        self.every.append(FakeCommand(list(words), told))
        return self.every[-1]

    @property
    def last(self) -> FakeCommand:
        """The newest."""
        return self.every[-1]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Nothing is begun beside the window; the test answers."""
    made = Commands()
    monkeypatch.setattr("studio.state.side_job.SideCommand", made.make)
    monkeypatch.setattr("studio.state.studies.plan_query.SideCommand", made.make)
    return made


def make_study(
    workspace: Path, kind: Kind, config: RunConfig, options: Options | None = None, result: Result | None = None
) -> StudyFolder:
    """A study of ``config``: planned, or done where it has a result."""
    draft = Draft(
        words=("What it does.", "2 runs of 100 steps each: about 30 s and up to 5 MB of the disk."), seconds=30
    )
    study = create_study(workspace, make_plan(kind, config, options or {}, COST, draft))
    if result is not None:
        study.write_result(result)
    return study


def make_result(kind: Kind, sentence: str = "It is so.", **rest: Any) -> Result:
    """What came of one."""
    return Result(kind=kind, sentence=sentence, **rest)


@pytest.fixture
def window(qtbot: QtBot, context: AppContext, commands: Commands) -> MainWindow:
    """The window, on the Studies page."""
    return open_window(qtbot, context, "studies")


def studies_tab(window: MainWindow) -> StudiesTab:
    """The Studies tab, in front."""
    page = window.page("studies")
    assert isinstance(page, StudiesPage)
    tab = page.show_tab("studies")
    assert isinstance(tab, StudiesTab)
    return tab


def listen(context: AppContext) -> list[Notification]:
    """All that is notified from now on."""
    said: list[Notification] = []
    context.notifier.notified.connect(said.append)
    return said


def show(qtbot: QtBot, window: MainWindow, study: StudyFolder) -> StudiesTab:
    """Choose ``study`` in the list, and wait until all of it is shown."""
    tab = studies_tab(window)
    window.controller.context.studies.list.refresh()
    qtbot.waitUntil(lambda: window.controller.context.studies.list.find(study.id) is not None)
    tab.rows.choose(study.id)
    qtbot.waitUntil(lambda: tab.detail.reading is not None and tab.detail.reading.study == study)
    return tab
