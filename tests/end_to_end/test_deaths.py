"""The window killed, stopped and crashed while a run works; the engine killed and crashed: what is lost, and who says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.pages.evaluate.page import EvaluatePage
from studio.services.app_settings import AppSettings, save_settings, settings_file
from studio.state.context import AppContext
from studio.widgets import Banner
from studio.window.main_window import MainWindow
from tests.end_to_end import halting_engine
from tests.end_to_end.halting_engine import read_notes
from tests.end_to_end.steps import LONG, at_work, steps, wait_for_steps
from tests.studio.window_driver import open_window, run_page
from training.config import RunConfig, save_config
from training.control import Command
from training.engine.runs.run import start_run
from training.evaluation import evaluate_checkpoint
from training.runs.folder import RunFolder, owner_of
from training.runs.records.manifest import list_checkpoints
from training.runs.records.series import read_series

MakeConfig = Callable[..., RunConfig]
MakeContext = Callable[..., AppContext]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")


@contextmanager
def program_at_work(
    config: RunConfig, workspace: Path, folder: Path
) -> Iterator[tuple[subprocess.Popen[bytes], RunFolder]]:
    """The real program in a process of its own, training; whatever is left of it is ended."""
    file = folder / "run.toml"
    save_config(config, file)
    program = subprocess.Popen([sys.executable, "-m", "studio", str(file), "--start"], env={**os.environ})
    owner = None
    try:
        run = wait_for_steps(workspace, program)
        owner = owner_of(run.path)
        assert owner is not None
        yield program, run
    finally:
        program.kill()
        program.wait()
        if owner is not None and psutil.pid_exists(owner.pid):
            psutil.Process(owner.pid).kill()


def wait_for_more(folder: RunFolder, more: int = 200) -> None:
    """Until the run has made ``more`` steps."""
    before, deadline = len(read_series(folder.series_file)), time.monotonic() + 60
    while len(read_series(folder.series_file)) < before + more:
        assert time.monotonic() < deadline, "the run did not go on"
        time.sleep(0.05)


def wait_until_left(folder: RunFolder) -> None:
    """Until no process works on the run."""
    deadline = time.monotonic() + 60
    while owner_of(folder.path) is not None:
        assert time.monotonic() < deadline, "the engine stayed"
        time.sleep(0.05)


def notice(qtbot: QtBot, window: MainWindow) -> Banner:
    """What the start offers."""
    window.controller.context.library.refresh()
    qtbot.waitUntil(lambda: bool(window.controller.notices.findChildren(Banner)), timeout=LONG)
    return window.controller.notices.findChildren(Banner)[0]


@pytest.mark.slow
def test_the_window_killed_leaves_a_run_that_goes_on_and_is_steered_by_the_next(
    qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig, workspace: Path, tmp_path: Path
) -> None:
    with program_at_work(tiny(epochs=100_000), workspace, tmp_path) as (program, folder):
        program.kill()
        program.wait()
        wait_for_more(folder)
        context = make_context()
        window = open_window(qtbot, context, "setup")
        context.library.refresh()
        qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING, timeout=LONG)
        owner = owner_of(folder.path)
        assert owner is not None
        page = run_page(window)
        assert page.header.owner.isVisible()
        assert f"Process {owner.pid} trains it, outside this window." in page.header.owner.text()
        at_work(qtbot, context, step=context.live.progress.step + 5)
        context.live.ask(Command.STOP)
        qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED, timeout=LONG)
        assert not page.header.owner.isVisible()
        assert not page.outcome.isVisible(), "a person asked for this stop"
        wait_until_left(folder)
        assert steps(folder) == list(range(1, context.live.progress.step + 1))


@pytest.mark.slow
def test_the_window_killed_stops_the_run_if_wished_and_the_next_offers_to_go_on(
    qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig, workspace: Path, tmp_path: Path
) -> None:
    save_settings(settings_file(), AppSettings(keep_training=False, keep_awake=False))
    with program_at_work(tiny(epochs=100_000), workspace, tmp_path) as (program, folder):
        program.kill()
        program.wait()
        wait_until_left(folder)
        status = folder.status()
        assert status.status == "stopped"
        assert list_checkpoints(folder)[0].step == status.step
        context = make_context()
        window = open_window(qtbot, context, "setup")
        banner = notice(qtbot, window)
        assert banner.accessibleName().startswith(
            "“tiny” was stopped. The window that showed the run ended unexpectedly"
        )
        qtbot.waitUntil(lambda: not context.start_problem(), timeout=LONG)
        next(button for button in banner.findChildren(QPushButton) if button.text() == "Resume").click()
        at_work(qtbot, context, step=status.step + 5)
        context.live.ask(Command.STOP)
        qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED and not context.engine.training, timeout=LONG)
        assert steps(folder) == list(range(1, context.live.progress.step + 1))


@pytest.mark.slow
def test_a_window_that_stands_still_holds_up_no_run_and_carries_on(
    qtbot: QtBot, tiny: MakeConfig, workspace: Path, tmp_path: Path
) -> None:
    with program_at_work(tiny(epochs=100_000), workspace, tmp_path) as (program, folder):
        program.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        while time.monotonic() - began < 5:
            wait_for_more(folder)
        program.send_signal(signal.SIGCONT)
        wait_for_more(folder)
        program.send_signal(signal.SIGTERM)
        assert program.wait(timeout=60) == 0
        assert folder.status().status == "stopped"


@pytest.mark.slow
def test_a_background_run_that_is_killed_is_mourned_on_every_page(
    qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig, workspace: Path, tmp_path: Path
) -> None:
    """Not our engine: only its vanishing tells. The Run page is hidden, so a notice has to say it."""
    file = tmp_path / "run.toml"
    save_config(tiny(epochs=100_000), file)
    command = [sys.executable, "-m", "training", "run", str(file), "--workspace", str(workspace)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            folder = wait_for_steps(workspace, process)
            context = make_context()
            window = open_window(qtbot, context, "run")
            context.open_run(folder.path)
            qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING, timeout=LONG)
            window.show_page("setup")
            process.kill()
            killed = time.monotonic()
            qtbot.waitUntil(lambda: context.live.state is RunState.INTERRUPTED, timeout=LONG)
            sys.stderr.write(f"said after {time.monotonic() - killed:.2f} s\n")
        finally:
            process.kill()
    told = [label.text() for toast in window.controller.toasts.toasts() for label in toast.findChildren(QLabel)]
    assert "“tiny” was interrupted" in told
    page = run_page(window)
    assert page.outcome.isVisible()
    resume = page.checkpoints.resume.main
    qtbot.waitUntil(lambda: resume.isVisible() and resume.isEnabled(), timeout=LONG)
    assert resume.text() == "Resume from last"


@pytest.mark.slow
def test_an_engine_that_dies_is_explained_with_what_it_wrote(
    qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig
) -> None:
    context = make_context()
    page = run_page(open_window(qtbot, context))
    context.start_run(tiny(epochs=100_000))
    folder = at_work(qtbot, context)
    qtbot.waitUntil(lambda: bool(list_checkpoints(folder)), timeout=LONG)
    owner = owner_of(folder.path)
    assert owner is not None
    os.kill(owner.pid, signal.SIGSEGV)
    killed = time.monotonic()
    qtbot.waitUntil(page.outcome.isVisible, timeout=LONG)
    sys.stderr.write(f"said after {time.monotonic() - killed:.2f} s\n")
    qtbot.waitUntil(lambda: context.live.death is not None, timeout=LONG)  # the run's owner may be missed first
    death = context.live.death
    assert death is not None
    assert "SIGSEGV" in death.sentence
    assert "Fatal Python error: Segmentation fault" in death.log
    assert '  File "' in death.log  # where threads are just starting, faulthandler may get no further (CPython #116008)
    assert "Copy" in {button.text() for button in page.outcome.findChildren(QPushButton)}
    assert page.checkpoints.resume.main.text() == "Resume from last"


@pytest.mark.slow
def test_an_evaluation_whose_engine_is_killed_goes_on_in_the_next_one(
    qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig, workspace: Path, tmp_path: Path
) -> None:
    loop = {"epochs": 1, "batch_size": 16, "validation_batch_size": 8}
    run = RunFolder(Path(start_run(tiny(loop=loop), workspace).folder))
    notes = tmp_path / "notes"
    context = make_context(command=[sys.executable, str(Path(halting_engine.__file__)), str(notes)])
    page = open_window(qtbot, context, "run/evaluate").page("run/evaluate")
    assert isinstance(page, EvaluatePage)
    page.choice.choose_run(run)
    button = page.state.empty.button
    qtbot.waitUntil(lambda: button.isVisible() and button.text() == "Evaluate", timeout=LONG)
    button.click()
    qtbot.waitUntil(lambda: len(read_notes(notes)) == 2, timeout=LONG)
    first = read_notes(notes)[0]
    os.kill(first, signal.SIGKILL)
    qtbot.waitUntil(lambda: button.text() == "Try again", timeout=LONG)
    assert "SIGKILL" in page.state.empty.accessibleName()
    assert page.selection.evaluation is None
    button.click()
    qtbot.waitUntil(lambda: page.selection.evaluation is not None, timeout=LONG)
    resumed = page.selection.evaluation
    assert resumed is not None
    processes = read_notes(notes)
    assert processes.count(first) == 2  # and what it had done was not done again
    assert len(processes) == -(-resumed.record.samples // 8)
    assert len(set(processes)) == 2
    columns = {name: resumed.column(name).tobytes() for name in resumed.record.columns}
    whole = evaluate_checkpoint(list_checkpoints(run)[0].path, again=True)
    assert whole.record.metrics == resumed.record.metrics
    assert {name: whole.column(name).tobytes() for name in columns} == columns
