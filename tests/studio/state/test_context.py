"""The context carries a run from Start to its end, and says why it cannot start another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.actions.table import ACTIONS
from studio.engine.state import RunState
from studio.services.notifier import Notification
from studio.state.context import CHARTS, AppContext
from studio.state.drafts.kept_draft import recall_draft, remember_draft
from tests.studio.conftest import ENDLESS
from training.config import RunConfig
from training.control import Command
from training.runs.folder import RunFolder
from training.runs.records.forms import Parent
from training.runs.records.manifest import list_checkpoints
from training.runs.relocation import remember

MakeConfig = Callable[..., RunConfig]


def states_of(context: AppContext) -> list[RunState]:
    seen: list[RunState] = []
    context.live.state_changed.connect(seen.append)
    return seen


def ended(qtbot: QtBot, context: AppContext, state: RunState) -> None:
    qtbot.waitUntil(lambda: context.live.state is state and not context.engine.training)


def messages(context: AppContext) -> list[Notification]:
    heard: list[Notification] = []
    context.notifier.notified.connect(heard.append)
    return heard


def completed_run(qtbot: QtBot, context: AppContext, config: MakeConfig) -> RunFolder:
    context.start_run(config())
    ended(qtbot, context, RunState.COMPLETED)
    assert context.live.folder is not None
    return context.live.folder


def test_a_run_from_start_to_end(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    seen = states_of(context)
    pages: list[str] = []
    problems: list[str] = []
    context.page_requested.connect(pages.append)
    context.start_problem_changed.connect(problems.append)
    context.start_run(config(epochs=3, milliseconds=3))
    assert context.live.state is RunState.STARTING
    assert "in progress" in context.start_problem()
    ended(qtbot, context, RunState.COMPLETED)
    assert seen[0] is RunState.STARTING
    assert seen[-1] is RunState.COMPLETED
    assert pages == [CHARTS]
    assert problems[-1] == ""
    assert context.live.progress.step == 60
    assert context.live.progress.fraction == 1.0
    qtbot.waitUntil(lambda: [run.status for run in context.library.runs] == ["completed"])


def test_pause_continue_stop_resume(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    seen = states_of(context)
    context.start_run(config(epochs=ENDLESS, milliseconds=10))
    qtbot.waitUntil(lambda: context.live.progress.step > 25)
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    context.live.ask(Command.PAUSE)
    assert seen[-1] == "pausing"
    qtbot.waitUntil(lambda: context.live.state is RunState.PAUSED)
    held = context.live.progress.step
    qtbot.wait(300)
    assert context.live.progress.step <= held + 2
    context.live.ask(Command.CONTINUE)
    qtbot.waitUntil(lambda: context.live.progress.step > held + 5)
    context.live.ask(Command.STOP)
    assert seen[-1] == "stopping"
    ended(qtbot, context, RunState.STOPPED)
    assert context.live.folder is not None
    stopped_at = context.live.progress.step
    first = next(info for info in list_checkpoints(context.live.folder) if info.step == 20)
    steps: list[int] = []
    context.live.attached.connect(steps.clear)  # what was shown is void: the run went back
    context.live.rows_arrived.connect(lambda rows: steps.extend(rows["step"].tolist()))
    seen.clear()
    context.resume(first.path)
    assert seen == [RunState.STARTING]
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    assert RunState.STOPPED not in seen
    assert stopped_at > 20
    qtbot.waitUntil(lambda: len(steps) > 20)
    assert steps == list(range(1, len(steps) + 1))
    context.live.ask(Command.STOP)
    ended(qtbot, context, RunState.STOPPED)


def test_a_refused_run_goes_back_to_the_form(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    heard = messages(context)
    pages: list[str] = []
    context.page_requested.connect(pages.append)
    context.start_run(config("refused"))
    ended(qtbot, context, RunState.IDLE)
    assert pages == [CHARTS, "setup"]
    assert "No such optimizer." in heard[-1].text
    assert [problem.path for problem in context.draft.problems()] == ["optimizer.lr"]


def test_a_run_that_could_not_begin_leaves_nothing_behind(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    heard = messages(context)
    context.start_run(config("vanishes"))
    ended(qtbot, context, RunState.IDLE)
    assert context.live.folder is None
    assert "The dataset is empty." in heard[-1].text


def test_a_failed_run_keeps_its_reason(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    context.start_run(config("fails"))
    ended(qtbot, context, RunState.FAILED)
    assert context.live.history is not None
    assert getattr(context.live.history.final, "reason", "") == "Oh no: the numbers ran out."


def test_an_engine_killed_while_training_leaves_an_interrupted_run_that_can_be_resumed(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    context.start_run(config("dies"))
    qtbot.waitUntil(lambda: context.live.state is RunState.INTERRUPTED)
    qtbot.waitUntil(lambda: context.live.death is not None)  # the run's owner may be missed first
    assert context.live.death is not None
    assert "SIGKILL" in context.live.death.sentence
    qtbot.waitUntil(lambda: context.start_problem() == "")
    qtbot.waitUntil(lambda: [run.status for run in context.library.runs] == ["interrupted"])


def test_branching_prefills_the_form_and_starts_from_the_checkpoint(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    folder = completed_run(qtbot, context, config)
    checkpoint = list_checkpoints(folder)[0]
    context.branch_from(folder, checkpoint)
    assert context.branch is not None
    assert context.branch.title == "step 40 of lab"
    draft = context.draft.config()
    assert draft is not None
    assert draft.name == "lab from step 40"  # not to be taken for the run it leaves
    context.start_run(draft)
    ended(qtbot, context, RunState.COMPLETED)
    assert context.branch is None
    assert context.live.folder is not None
    assert context.live.folder.path != folder.path
    assert context.live.folder.status().parent == Parent(run=folder.id)


def test_a_branch_that_is_prepared_outlasts_other_runs_and_knows_where_the_run_works_here(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    folder = completed_run(qtbot, context, config)
    remember(folder, {"precision.threads": 1})  # as a resume on this machine was told
    first = list_checkpoints(folder)[-1]
    context.branch_from(folder, list_checkpoints(folder)[0])
    draft, branch = context.draft.config(), context.branch
    assert draft is not None
    assert draft.precision.threads == 1
    assert branch is not None
    assert branch.config.precision.threads != 1  # the sheet tells the difference
    context.branch_at_once(folder, first)
    ended(qtbot, context, RunState.COMPLETED)
    assert context.branch == branch
    assert context.live.folder is not None
    context.resume(folder.path, ["loop.epochs=3"])
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.engine.training)
    assert context.branch == branch
    context.start_draft()
    ended(qtbot, context, RunState.COMPLETED)
    assert context.branch is None


def test_a_configuration_file_is_opened_with_its_faults(qtbot: QtBot, context: AppContext, tmp_path: Path) -> None:
    heard = messages(context)
    path = tmp_path / "lab.toml"
    path.write_text('name = "mine"\n[optimizer]\nkind = "adamw"\nlr = -1.0\n')
    assert context.open_config(str(path))
    assert [problem.path for problem in context.draft.problems()] == ["optimizer.lr"]
    path.write_text("name = ")
    assert not context.open_config(str(path))
    assert "not valid TOML" in heard[-1].text
    assert not context.open_config(str(tmp_path / "none.toml"))
    assert not context.open_config("preset:smaple")
    assert "did you mean 'sample'?" in heard[-1].text


def test_a_file_with_what_no_form_knows_is_opened_but_not_started(
    qtbot: QtBot, context: AppContext, tmp_path: Path
) -> None:
    heard = messages(context)
    path = tmp_path / "lab.toml"
    path.write_text('[dataset]\nkind = "spirals"\n')
    assert context.open_config(str(path), start=True)
    assert heard[-1].text == "dataset.kind: unknown here and left out; check the spelling. Training was not started."
    assert not context.engine.training
    assert context.live.state is RunState.IDLE
    path.write_text('[dataset]\nkind = "shapes"\n[loop]\nepochs = 1\nbatch_size = 1\n')
    assert context.open_config(str(path), start=True)
    ended(qtbot, context, RunState.COMPLETED)


def test_a_preset_whose_data_are_not_here_is_opened_and_says_so(qtbot: QtBot, context: AppContext) -> None:
    assert context.open_config("preset:cifar10")
    assert context.draft.kind("model") == "whitened_cnn"
    (problem,) = context.draft.problems()
    assert problem.path == "dataset.path"
    assert problem.message.startswith("'CIFAR-10' does not exist")


def test_the_form_is_remembered(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    context.draft.set_config(config("kept"))
    remember_draft(context.draft)
    context.draft.load_preset()
    recall_draft(context.draft)
    kept = context.draft.config()
    assert kept is not None
    assert kept.name == "kept"


@pytest.mark.parametrize("garbage", ["", "{", "[1]", '{"name": 3, "loop": 4, "unknown": {}}'])
def test_a_damaged_memory_of_the_form_is_survived(qtbot: QtBot, context: AppContext, garbage: str) -> None:
    from studio.services.app_settings import draft_file

    draft_file().parent.mkdir(parents=True, exist_ok=True)
    draft_file().write_text(garbage)
    recall_draft(context.draft)


def test_what_holds_the_draft_back_is_said_and_shown_but_a_file_that_is_to_be_started_is(
    qtbot: QtBot, context: AppContext, tmp_path: Path
) -> None:
    """Start by the keyboard or from the menu, on whatever page."""
    heard: list[str] = []
    pages: list[str] = []
    context.notifier.notified.connect(lambda notice: heard.append(notice.text))
    context.page_requested.connect(pages.append)
    context.hold_draft("Reading the preview of price …")
    next(action for action in ACTIONS if action.id == "start").run(context)  # type: ignore[misc]
    assert heard == ["Reading the preview of price …"]
    assert pages == ["setup"]
    assert not context.engine.training
    context.hold_draft("")
    file = tmp_path / "run.toml"
    file.write_text("[loop]\nepochs = 2\nbatch_size = 1\n")
    context.hold_draft("Reading the preview of price …")
    assert context.open_config(str(file), start=True)
    assert context.engine.training
    qtbot.waitUntil(lambda: not context.start_problem())
