"""The engine of a run in the window: chosen beside Start, and asked for where a run was trained by another one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.engine.child import ChildLink
from studio.engine.host import EngineHost
from studio.engine.link import EngineChoice, EngineLink
from studio.engine.state import RunState
from studio.state.context import AppContext
from studio.state.engines import engines_of
from tests.studio.conftest import ENDLESS, FAKE_ENGINE, MakeHost, end_engines
from tests.studio.window_driver import answer_next_question, open_window
from tests.training.engines.stand_ins import make_python
from training.config import RunConfig
from training.control import Command
from training.engines.change import add_engine
from training.environment import Environment
from training.runs.folder import RunFolder

MakeConfig = Callable[..., RunConfig]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the environments here are POSIX's")


@pytest.fixture
def choices() -> list[EngineChoice]:
    """The engines that were begun, the first one first: whatever they were chosen by, the fake one works."""
    return []


@pytest.fixture
def context(
    qtbot: QtBot, make_host: MakeHost, context: AppContext, choices: list[EngineChoice], isolated_home: Path
) -> Iterator[AppContext]:
    def make_link(choice: EngineChoice) -> EngineLink:
        choices.append(choice)
        return ChildLink(choice.python, isolated_home / "logs", FAKE_ENGINE)

    made = AppContext(context.workspace, context.settings, EngineHost(EngineChoice(), make_link))
    yield made
    end_engines(qtbot, made.engine)
    made.background.close()


@pytest.fixture
def few_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those alone that a test adds, and our own."""
    monkeypatch.setattr("training.engines.search._system_pythons", lambda: iter(()))
    monkeypatch.setattr("training.engines.search.find_checkout", lambda: None)
    monkeypatch.setenv("PYENV_ROOT", "/no/such/folder")


def stop_run(qtbot: QtBot, context: AppContext, config: RunConfig, python: str) -> RunFolder:
    """A run that was stopped, and trained by ``python``."""
    context.start_run(config)
    qtbot.waitUntil(lambda: context.live.progress.step > 25)
    context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED and not context.engine.training)
    folder = context.live.folder
    assert folder is not None
    folder.environment_file.write_text(Environment(executable=python).model_dump_json(exclude_unset=True))
    return folder


def test_a_run_goes_on_with_its_own_engine_which_no_other_run_takes(
    qtbot: QtBot, context: AppContext, choices: list[EngineChoice], tmp_path: Path, config: MakeConfig
) -> None:
    open_window(qtbot, context)
    python = make_python(tmp_path / "mine")
    folder = stop_run(qtbot, context, config(epochs=ENDLESS, milliseconds=10), python)
    asked = answer_next_question(qtbot, "Resume with mine")
    context.resume(folder.path)
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    assert asked == ["Resume with the engine mine?"]
    assert choices[-1] == EngineChoice(python)
    context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED and not context.engine.training)
    assert choices[-1] == EngineChoice()  # for the next one
    assert context.settings.get().engine_python == ""


def test_a_run_whose_engine_is_gone_is_offered_the_one_in_use(
    qtbot: QtBot, context: AppContext, choices: list[EngineChoice], tmp_path: Path, config: MakeConfig
) -> None:
    open_window(qtbot, context)
    python = make_python(tmp_path / "mine")
    folder = stop_run(qtbot, context, config(epochs=ENDLESS, milliseconds=10), python)
    shutil.rmtree(tmp_path / "mine")
    context.settings.update(engine_python=make_python(tmp_path / "other"))
    asked = answer_next_question(qtbot, "Cancel")
    context.resume(folder.path)
    qtbot.waitUntil(lambda: asked == ["The engine mine is gone"])
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED)
    assert not context.engine.training
    asked = answer_next_question(qtbot, "Resume with other")
    context.resume(folder.path)
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED and not context.engine.training)
    assert python not in [choice.python for choice in choices]


@pytest.mark.slow
def test_the_engine_of_the_next_run_is_chosen_beside_start(
    qtbot: QtBot, context: AppContext, few_pythons: None, tmp_path: Path
) -> None:
    python, broken = make_python(tmp_path / "mine"), make_python(tmp_path / "bare", torch=None)
    add_engine(Path(python))
    add_engine(Path(broken))
    window = open_window(qtbot, context, "setup")
    menu = window.page("setup").bar.engine_button.menu()  # type: ignore[attr-defined]
    menu.aboutToShow.emit()

    def names() -> list[str]:
        return [action.text() for action in menu.actions() if action.isCheckable()]

    qtbot.waitUntil(lambda: "mine" in names() and not engines_of(context).trying)
    assert "bare" not in names()  # it cannot train
    assert menu.actions()[-1].text() == "Engines …"
    next(action for action in menu.actions() if action.text() == "mine").trigger()
    assert context.settings.get().engine_python == python
    assert [action.text() for action in menu.actions() if action.isChecked()] == ["mine"]
