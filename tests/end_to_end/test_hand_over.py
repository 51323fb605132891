"""A run that changes hands with the real engine: to the background, and to a branch with the settings a finding proposes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.panels.fix_dialog import APPLY, OFFER, FixDialog
from studio.services.notifier import Notification
from studio.state.context import AppContext
from studio.widgets import Banner
from tests.end_to_end.steps import LONG, at_work, ended
from tests.studio.window_driver import answer_next_dialog, answer_next_question, open_window, press, run_page
from training.config import RunConfig
from training.control import Command
from training.events import Finding
from training.runs.folder import owner_of
from training.runs.records.history import read_history
from training.runs.records.manifest import list_checkpoints, read_manifest
from training.runs.records.series import read_series

MakeConfig = Callable[..., RunConfig]
MakeContext = Callable[..., AppContext]


@pytest.mark.slow
def test_a_run_inside_the_window_moves_to_the_background_at_its_very_step(
    qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig
) -> None:
    """Stopped, kept, taken over by another process, found again, and in the end the run that nobody disturbed."""
    config = tiny(epochs=24, dataset={"kind": "shapes", "samples": 240, "flip": True, "rotation": 10.0})
    whole = make_context()
    whole.start_run(config)
    undisturbed = ended(qtbot, whole, RunState.COMPLETED)

    context = make_context(in_process=True)
    window = open_window(qtbot, context)
    context.start_run(config)
    folder = at_work(qtbot, context, step=30)
    answer_next_question(qtbot, "Keep training in the background")
    with qtbot.waitSignal(window.closed, timeout=LONG):
        window.close()
    context.live.detach()
    owner = owner_of(folder.path)
    assert owner is not None
    assert owner.pid != os.getpid()
    after = make_context()
    open_window(qtbot, after, "setup")
    after.library.refresh()
    qtbot.waitUntil(lambda: after.live.folder == folder, timeout=LONG)
    ended(qtbot, after, RunState.COMPLETED)
    attempts = read_history(folder.events_file).attempts
    assert len(attempts) == 2
    assert 30 <= attempts[1].step < 288
    series, other = read_series(folder.series_file), read_series(undisturbed.series_file)
    assert series.tobytes() == other.tobytes()
    newest, expected = list_checkpoints(folder)[0], list_checkpoints(undisturbed)[0]
    assert read_manifest(newest.path).files == read_manifest(expected.path).files, "to the bit"


def test_a_hand_over_that_fails_keeps_the_run_and_the_window(
    qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = make_context(in_process=True)
    window = open_window(qtbot, context)
    context.start_run(tiny(epochs=100_000))
    at_work(qtbot, context)
    heard: list[Notification] = []
    context.notifier.notified.connect(heard.append)
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    answer_next_question(qtbot, "Keep training in the background")
    window.close()
    qtbot.waitUntil(lambda: bool(heard), timeout=LONG)
    assert "/no/such/python could not be started" in heard[0].text
    assert "The run is stopped; its checkpoint is saved." in heard[0].text
    assert window.isVisible()
    folder = ended(qtbot, context, RunState.STOPPED)
    assert list_checkpoints(folder)[0].step == context.live.progress.step
    with qtbot.waitSignal(window.closed, timeout=LONG):
        window.close()


@pytest.mark.slow
def test_what_a_finding_proposes_is_applied_to_a_run_at_work(
    qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig
) -> None:
    context = make_context()
    page = run_page(open_window(qtbot, context))
    context.start_run(tiny(epochs=100_000))
    first = at_work(qtbot, context, step=20)
    qtbot.waitUntil(lambda: bool(list_checkpoints(first)), timeout=LONG)  # it is written beside the steps
    fix = {"loop.batch_size": 8, "loop.accumulation": 2}
    page.found.findings.add(Finding(level="warning", title="Memory is short.", step=20, fix=fix))
    qtbot.waitUntil(lambda: page.findings.count >= 1)  # the run may have a finding of its own by then
    told = [banner.accessibleName() for banner in page.findings.findChildren(Banner)]
    assert any("Batch size: 16 → 8; Gradient accumulation steps: 1 → 2" in each for each in told)
    shown = answer_next_dialog(qtbot, FixDialog, APPLY)
    press(page.findings, OFFER)
    qtbot.waitUntil(lambda: context.live.folder not in (None, first), timeout=LONG)
    second = at_work(qtbot, context, step=25)
    assert "The run is stopped and a checkpoint saved first." in shown[0]
    assert "A new run, a branch, goes on from the step where it stops." in shown[0]
    stopped = first.status()
    assert stopped.status == "stopped"
    parent = second.status().parent
    assert parent is not None
    assert parent.run == first.id
    assert second.config().loop.batch_size == 8
    (attempt,) = read_history(second.events_file).attempts
    assert attempt.step == stopped.step
    context.live.ask(Command.STOP)
    ended(qtbot, context, RunState.STOPPED)
