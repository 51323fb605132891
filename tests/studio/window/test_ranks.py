"""A run in several processes, chosen, started, stopped and resumed in the window; its processes are real ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.actions.queueing import add_draft
from studio.engine.state import WORKING, RunState
from studio.pages.setup.page import SetupPage
from studio.pages.studies.queue.tab import QueueTab
from studio.pages.studies.queue.table import DEVICE
from studio.state.context import AppContext
from studio.window.main_window import MainWindow
from tests.studio.conftest import PATIENCE
from tests.studio.window_driver import open_window, run_page
from training.control import Command
from training.runs.folder import RunFolder
from training.runs.records.forms import Parent
from training.runs.records.manifest import list_checkpoints
from training.runs.records.ranks import read_ranks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="torch's launcher does not work on Windows")

START = 5 * PATIENCE
"""Several processes load torch, one after the other where the machine is busy."""
ENDLESS = {"loop.epochs": 100_000, "dataset.samples": 500, "precision.threads": 1, "loop.batch_size": 64}


def setup_page(window: MainWindow) -> SetupPage:
    page = window.page("setup")
    assert isinstance(page, SetupPage)
    return page


def choose(page: SetupPage, text: str) -> None:
    """Press a choice of *Where it runs*."""
    option = next(each for each in page.where.focus_widgets() if each.accessibleName() == text)
    option.click()  # type: ignore[attr-defined]


def processes(context: AppContext) -> list[psutil.Process]:
    assert context.live.folder is not None
    record = read_ranks(context.live.folder.path)
    assert record is not None
    return [psutil.Process(each.process) for each in record.ranks]


def parent_of(folder: RunFolder) -> Parent:
    parent = folder.status().parent
    assert parent is not None
    return parent


def start_in_two(qtbot: QtBot, context: AppContext) -> MainWindow:
    """A window whose run makes steps in two processes."""
    window = open_window(qtbot, context, "setup")
    context.draft.apply(ENDLESS)
    page = setup_page(window)
    choose(page, "Several processes")
    page.start()
    qtbot.waitUntil(lambda: context.live.progress.step >= 3, timeout=START)
    return window


def test_a_choice_sets_the_slots_and_can_be_taken_back(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "setup")
    page, draft = setup_page(window), context.draft
    choose(page, "Several processes")
    assert (context.where.count, draft.value("loop.slots")) == (2, 2)
    batch = draft.value("loop.batch_size")
    assert f"{batch} = 2 x {batch // 2} samples" in page.where.words.text()
    page.where.number.setFocus()
    page.where.number.selectAll()
    QTest.keyClicks(page.where.number, "4")
    page.where.number.editingFinished.emit()
    assert (context.where.count, draft.value("loop.slots")) == (4, 4)
    draft.undo()
    assert draft.value("loop.slots") == 2
    assert "Use 1 or 2 processes" in page.where.sentence.text()
    assert not page.bar.start_button.isEnabled()
    page.where.fix.click()
    assert draft.value("loop.slots") == 4
    assert not page.where.sentence.isVisible()
    choose(page, "This process")
    assert (context.where.count, draft.value("loop.slots")) == (1, 1)


def test_what_cannot_be_shared_is_refused_at_its_field(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "setup")
    page = setup_page(window)
    context.draft.apply({"precision.compile": "step"})
    choose(page, "Several processes")
    assert [problem.path for problem in context.draft.problems()] == ["precision.compile"]
    context.draft.apply({"precision.compile": "off", "objective.kind": "embedding"})
    assert any("compares the samples" in problem.message for problem in context.draft.problems())
    assert not page.bar.start_button.isEnabled()


@pytest.mark.slow
def test_two_processes_train_stop_and_go_on(qtbot: QtBot, context: AppContext) -> None:
    window = start_in_two(qtbot, context)
    first = processes(context)
    assert len(first) == 2
    live = context.live
    qtbot.waitUntil(lambda: live.state is RunState.TRAINING)
    page = run_page(window)
    page.show_tab("system")
    qtbot.waitUntil(lambda: page.system.ranks.table.rowCount() == 2 and page.system.ranks.isVisible())
    live.ask(Command.PAUSE)
    qtbot.waitUntil(lambda: live.state is RunState.PAUSED)
    live.ask(Command.CONTINUE)
    qtbot.waitUntil(lambda: live.state is RunState.TRAINING)
    live.ask(Command.STOP)
    qtbot.waitUntil(lambda: live.state is RunState.STOPPED and not context.engine.training)
    step = live.progress.step
    assert live.folder is not None
    context.resume(live.folder.path)
    qtbot.waitUntil(lambda: live.state is RunState.TRAINING and live.progress.step > step, timeout=START)
    live.ask(Command.STOP)
    qtbot.waitUntil(lambda: live.state is RunState.STOPPED and not context.engine.training)
    qtbot.waitUntil(lambda: not any(each.is_running() for each in first))


@pytest.mark.slow
def test_branches_and_changed_settings_take_as_many(qtbot: QtBot, context: AppContext) -> None:
    start_in_two(qtbot, context)
    live = context.live

    def stop() -> RunFolder:
        live.ask(Command.STOP)
        qtbot.waitUntil(lambda: live.state is RunState.STOPPED and not context.engine.training)
        assert live.folder is not None
        return live.folder

    first = stop()
    step = live.progress.step

    def await_steps(begun: Callable[[Path], bool]) -> RunFolder:
        qtbot.waitUntil(
            lambda: (
                live.folder is not None
                and begun(live.folder.path)
                and live.state is RunState.TRAINING
                and live.progress.step > step
            ),
            timeout=START,
        )
        assert len(processes(context)) == 2
        return stop()

    context.resume(first.path, ["optimizer.lr=0.0005"])
    changed = await_steps(lambda path: path != first.path)
    assert parent_of(changed).run == first.id
    assert changed.config().optimizer.lr == 0.0005
    (checkpoint, *_) = list_checkpoints(first)
    context.branch_at_once(first, checkpoint)
    branch = await_steps(lambda path: path not in (first.path, changed.path))
    assert parent_of(branch).checkpoint == str(checkpoint.path)
    context.resume(first.path, ["checkpoints.keep_last=7"])
    assert await_steps(lambda path: path == first.path) == first
    assert len(list((context.workspace / "runs").iterdir())) == 3


def test_what_is_queued_keeps_how_many(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "setup")
    choose(setup_page(window), "Several processes")
    add_draft(context)
    qtbot.waitUntil(lambda: bool(context.queue.overview.shown))
    (shown,) = context.queue.overview.shown
    assert (shown.entry.ranks, shown.entry.place) == (2, "2 x auto")
    assert context.queue.queue.folder_of(shown.entry).config().loop.slots == 2
    window.show_page("studies/queue")
    tab = window.page("studies/queue")
    assert isinstance(tab, QueueTab)
    qtbot.waitUntil(lambda: tab.model.rowCount() == 1)
    assert tab.model.index(0, DEVICE).data() == "2 x any"


@pytest.mark.slow
def test_a_killed_process_is_told_in_one_sentence(qtbot: QtBot, context: AppContext) -> None:
    start_in_two(qtbot, context)
    processes(context)[1].kill()
    qtbot.waitUntil(lambda: not context.engine.training)
    live = context.live
    qtbot.waitUntil(lambda: live.state in (RunState.INTERRUPTED, RunState.FAILED))


@pytest.mark.slow
def test_a_run_that_cannot_begin_leaves_nothing(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "setup")
    said: list[Any] = []
    context.notifier.notified.connect(said.append)
    context.draft.apply({**ENDLESS, "precision.device": "cuda"})
    page = setup_page(window)
    choose(page, "Several processes")
    page.start()
    qtbot.waitUntil(lambda: bool(said), timeout=START)
    assert said[-1].title == "The run was not started"
    assert not list((context.workspace / "runs").iterdir())
    assert not context.is_training()


@pytest.mark.slow
def test_a_run_goes_on_without_its_window(qtbot: QtBot, context: AppContext) -> None:
    start_in_two(qtbot, context)
    (first, _) = processes(context)
    left: list[bool] = []
    context.engine.detach(lambda: left.append(True))
    assert left
    assert not context.engine.training
    step = context.live.progress.step
    qtbot.waitUntil(lambda: context.live.progress.step > step + 3)
    assert context.live.state in WORKING
    context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED)
    qtbot.waitUntil(lambda: not first.is_running())


@pytest.mark.slow
def test_engines_that_are_shut_down_keep_the_run_first(qtbot: QtBot, context: AppContext) -> None:
    start_in_two(qtbot, context)
    first = processes(context)
    with qtbot.waitSignal(context.engine.shut_down):
        context.engine.shutdown()
    assert context.live.folder is not None
    assert context.live.folder.status().status == "stopped"
    assert context.live.folder.status().last_checkpoint is not None
    qtbot.waitUntil(lambda: not any(each.is_running() for each in first))


@pytest.mark.slow
def test_ending_at_once_leaves_no_process(qtbot: QtBot, context: AppContext) -> None:
    start_in_two(qtbot, context)
    command = psutil.Process(processes(context)[0].pid).parents()
    first = [*processes(context), *command[:2]]  # torch's launcher, and what began it
    context.engine.kill()
    qtbot.waitUntil(lambda: not context.engine.training)
    qtbot.waitUntil(lambda: not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in first))
    qtbot.waitUntil(lambda: context.live.state is RunState.INTERRUPTED)
