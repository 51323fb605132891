"""The whole way through the window with the real engine: start, pause, stop, resume, export, close, crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot

from studio.actions.export_dialog import ExportDialog
from studio.engine.state import RunState
from studio.services.notifier import Notification
from studio.state.context import AppContext
from tests.end_to_end.steps import LONG, at_work, ended, steps, wait_for_steps
from tests.studio.window_driver import answer_next_question, open_window, run_page
from training.config import RunConfig, save_config
from training.control import Command
from training.runs.folder import owner_of
from training.runs.records.manifest import list_checkpoints
from training.runs.records.series import read_series

MakeConfig = Callable[..., RunConfig]
MakeContext = Callable[..., AppContext]


@pytest.mark.slow
def test_start_pause_stop_resume_and_export(
    qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = make_context()
    page = run_page(open_window(qtbot, context))
    context.draft.set_config(tiny(epochs=40))
    context.start_draft()
    at_work(qtbot, context)
    context.live.ask(Command.PAUSE)
    qtbot.waitUntil(lambda: context.live.state is RunState.PAUSED, timeout=LONG)
    context.live.ask(Command.CONTINUE)
    at_work(qtbot, context, step=40)
    context.live.ask(Command.STOP)
    folder = ended(qtbot, context, RunState.STOPPED)
    stopped_at = context.live.progress.step
    assert steps(folder) == list(range(1, stopped_at + 1))

    earlier = list_checkpoints(folder)[-1]  # which epochs are the best so far is the CPU's affair; the first one is
    context.resume(earlier.path)
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING, timeout=LONG)
    at_work(qtbot, context, step=earlier.step + 6)
    context.live.ask(Command.STOP)
    ended(qtbot, context, RunState.STOPPED)
    assert steps(folder) == list(range(1, context.live.progress.step + 1))
    shown = page.charts.curves.board.plot("loss")._curves["train/loss"].series.raw
    rows = read_series(folder.series_file)
    np.testing.assert_allclose(np.asarray(shown.y), rows["loss"], rtol=1e-6)

    heard: list[Notification] = []
    context.notifier.notified.connect(heard.append)
    monkeypatch.setattr(ExportDialog, "exec", lambda _: QDialog.DialogCode.Accepted)
    context.settings.update(export_folder=str(tmp_path))
    page.checkpoints.export.click()
    qtbot.waitUntil(lambda: heard[-1:] != [] and heard[-1].tone in ("success", "danger"), timeout=LONG)
    assert heard[-1].tone == "success", heard[-1].text
    assert "100% of the answers alike" in heard[-1].text
    (weights,) = tmp_path.glob("*-safetensors/model.safetensors")
    assert weights.stat().st_size > 1000


def test_a_fresh_window_trains_the_sample_to_its_end_and_knows_it_at_the_next_start(
    qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig
) -> None:
    context = make_context()
    window = open_window(qtbot, context)
    context.draft.set_config(tiny())
    window.controller.actions.actions["start"].trigger()
    folder = ended(qtbot, context, RunState.COMPLETED)
    best = folder.status().best
    assert best is not None
    assert best.metric == "val/accuracy"
    with qtbot.waitSignal(window.closed, timeout=LONG):
        window.close()
    after = make_context()
    after.library.refresh()
    qtbot.waitUntil(lambda: [run.status for run in after.library.runs] == ["completed"], timeout=LONG)


def test_a_dataset_that_is_missing_is_refused_before_anything_is_written(
    qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig, tmp_path: Path, workspace: Path
) -> None:
    context = make_context()
    images = tmp_path / "pictures"
    images.mkdir()
    heard: list[Notification] = []
    context.notifier.notified.connect(heard.append)
    context.start_run(tiny(dataset={"kind": "image_folder", "path": str(images)}))
    qtbot.waitUntil(lambda: not context.engine.training, timeout=LONG)
    assert context.live.state is RunState.IDLE
    assert str(images) in heard[-1].text
    assert not list(workspace.glob("runs/*"))


@pytest.mark.slow
def test_an_engine_killed_while_training_is_resumed_to_one_curve(
    qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig
) -> None:
    context = make_context()
    context.start_run(tiny(epochs=40))
    folder = at_work(qtbot, context, step=30)
    owner = owner_of(folder.path)
    assert owner is not None
    psutil.Process(owner.pid).kill()
    qtbot.waitUntil(lambda: context.live.state is RunState.INTERRUPTED, timeout=LONG)
    qtbot.waitUntil(lambda: context.live.death is not None, timeout=LONG)  # the run's owner may be missed first
    qtbot.waitUntil(lambda: not context.start_problem(), timeout=LONG)
    context.resume(folder.path)
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING, timeout=LONG)
    at_work(qtbot, context, step=40)
    context.live.ask(Command.STOP)
    ended(qtbot, context, RunState.STOPPED)
    assert steps(folder) == list(range(1, context.live.progress.step + 1))


@pytest.mark.slow
def test_a_run_goes_on_in_the_background_and_is_found_again(
    qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig
) -> None:
    context = make_context()
    window = open_window(qtbot, context)
    context.start_run(tiny(epochs=100_000))
    folder = at_work(qtbot, context)
    answer_next_question(qtbot, "Keep training in the background")
    with qtbot.waitSignal(window.closed, timeout=LONG):
        window.close()
    context.live.detach()
    owner = owner_of(folder.path)
    assert owner is not None
    after = make_context()
    open_window(qtbot, after, "setup")
    after.library.refresh()
    qtbot.waitUntil(lambda: after.live.state is RunState.TRAINING, timeout=LONG)
    reached = after.live.progress.step
    at_work(qtbot, after, step=reached + 5)
    after.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: after.live.state is RunState.STOPPED, timeout=LONG)
    qtbot.waitUntil(lambda: not psutil.pid_exists(owner.pid), timeout=LONG)
    assert steps(folder) == list(range(1, after.live.progress.step + 1))
    assert list_checkpoints(folder)[0].step == after.live.progress.step


@pytest.mark.slow
def test_the_engine_in_place_does_the_same(qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig) -> None:
    context = make_context(in_process=True)
    assert context.engine.in_process
    context.start_run(tiny())
    folder = ended(qtbot, context, RunState.COMPLETED)
    context.start_run(tiny(epochs=1000))
    qtbot.waitUntil(lambda: context.live.folder != folder, timeout=LONG)
    at_work(qtbot, context)
    context.live.ask(Command.STOP)
    ended(qtbot, context, RunState.STOPPED)


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_the_program_itself_starts_a_config_and_ends_politely(
    isolated_home: Path, tiny: MakeConfig, workspace: Path, tmp_path: Path, number: signal.Signals
) -> None:
    config = tmp_path / "my run.toml"
    save_config(tiny(epochs=100_000), config)
    program = subprocess.Popen([sys.executable, "-m", "studio", str(config), "--start"], env={**os.environ})
    try:
        folder = wait_for_steps(workspace, program)
        program.send_signal(number)
        assert program.wait(timeout=60) == 0
    finally:
        program.kill()
        program.wait()
    status = json.loads(folder.status_file.read_text(encoding="utf-8"))
    assert status["status"] == "stopped"
    assert owner_of(folder.path) is None
    assert list_checkpoints(folder)[0].step == status["step"]
