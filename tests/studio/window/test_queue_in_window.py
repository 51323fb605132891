"""The queue outside its tab: at the foot of the window, in the question at the start, among the commands, and when the window closes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from studio.state.context import AppContext
from studio.widgets import Banner, Toast
from studio.window.main_window import MainWindow
from tests.studio.conftest import ENDLESS
from tests.studio.queue_driver import add, begin, names, worker_process
from tests.studio.window_driver import open_window, press
from training.config import RunConfig
from training.queue.store import Queue
from training.runs.folder import claim, release
from training.runs.owner import Owner, this_process


def asked(window: MainWindow) -> list[str]:
    banners = window.controller.notices.findChildren(Banner)
    return [banner.accessibleName() for banner in banners if not banner.isHidden()]


def settle(qtbot: QtBot, context: AppContext) -> None:
    """Until the window knows the runs and the queue."""
    context.library.refresh()
    qtbot.waitUntil(lambda: context.library.loaded and context.queue.loaded)


def test_the_foot_of_the_window_tells_the_queue_and_leads_to_it(qtbot: QtBot, context: AppContext) -> None:
    context.workspace.mkdir(parents=True)
    window = open_window(qtbot, context, "setup")
    foot = window.status.queue
    settle(qtbot, context)
    assert foot.isHidden()
    (entry,) = add(context.workspace, "one")
    qtbot.waitUntil(foot.isVisible)
    assert foot.text() == "Queue: 1 waiting, not started"
    foot.click()
    assert window.rail.current() == "studies"
    assert window.help_topic() == "queue"
    Queue(context.workspace).remove(entry.id, lambda each: False)
    qtbot.waitUntil(foot.isHidden)


def test_the_start_asks_for_runs_that_wait_and_nobody_trains(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def start(queue: Queue, device: str, program: list[str]) -> Owner:
        started.append(device)
        return this_process()

    monkeypatch.setattr("studio.state.run_queue.start_worker", start)
    add(context.workspace, "one", "two")
    window = open_window(qtbot, context, "setup")
    qtbot.waitUntil(lambda: bool(asked(window)))
    (words,) = asked(window)
    assert words.startswith("2 runs wait in the queue. No process trains them.")
    assert started == []  # nothing by itself
    press(window.controller.notices, "Go on")
    qtbot.waitUntil(lambda: started == ["any"])
    assert asked(window) == []


def test_what_a_restart_of_the_machine_cut_off_is_asked_for_once_and_goes_on_where_it_was(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr("studio.state.run_queue.start_worker", lambda queue, device, program: started.append(device))
    first, second, _third = add(context.workspace, "one", "two", "three")
    begin(context.workspace, first, "cuda:0")
    begin(context.workspace, second, "cuda:1")
    window = open_window(qtbot, context, "setup")
    settle(qtbot, context)
    qtbot.waitUntil(lambda: bool(asked(window)))
    assert [words.partition(".")[0] for words in asked(window)] == [  # and no other one to resume these very runs
        "2 runs of the queue were interrupted, and 1 more run waits"
    ]
    press(window.controller.notices, "Go on")
    qtbot.waitUntil(lambda: sorted(started) == ["cuda:0", "cuda:1"])


@pytest.mark.parametrize("why", ["paused", "worked off", "empty"])
def test_there_is_no_question_where_nothing_is_left_alone(qtbot: QtBot, context: AppContext, why: str) -> None:
    queue = Queue(context.workspace)
    (entry,) = add(context.workspace, "one")
    if why == "paused":
        queue.set_paused(True)
    elif why == "empty":
        queue.remove(entry.id, lambda each: False)
    with worker_process(context.workspace) if why == "worked off" else nullcontext():
        window = open_window(qtbot, context, "setup")
        settle(qtbot, context)
        assert asked(window) == []


def test_later_puts_the_question_away_and_so_does_somebody_who_goes_on(qtbot: QtBot, context: AppContext) -> None:
    add(context.workspace, "one")
    window = open_window(qtbot, context, "setup")
    qtbot.waitUntil(lambda: bool(asked(window)))
    press(window.controller.notices, "Later")
    assert asked(window) == []
    assert window.status.queue.text() == "Queue: 1 waiting, not started"


def test_the_question_is_past_when_another_program_goes_on(qtbot: QtBot, context: AppContext) -> None:
    add(context.workspace, "one")
    window = open_window(qtbot, context, "setup")
    qtbot.waitUntil(lambda: bool(asked(window)))
    with worker_process(context.workspace):
        qtbot.waitUntil(lambda: not asked(window))


def test_the_command_queues_the_forms_while_another_run_trains_and_undo_takes_it_back(
    qtbot: QtBot, context: AppContext, config: Callable[..., RunConfig]
) -> None:
    window = open_window(qtbot, context, "setup")
    context.start_run(config("mine", epochs=ENDLESS))
    qtbot.waitUntil(lambda: context.live.folder is not None)
    context.draft.set("name", "tonight")
    command = window.controller.actions.actions["queue"]
    assert command.isEnabled()
    assert not window.controller.actions.actions["start"].isEnabled()
    command.trigger()
    toasts = window.controller.toasts
    qtbot.waitUntil(lambda: [toast.title for toast in toasts.findChildren(Toast)] == ["“tonight” is in the queue"])
    assert names(context.workspace) == ["tonight"]
    context.draft.set("name", "tomorrow")  # what was queued stays what it was
    queue = Queue(context.workspace)
    assert queue.folder_of(queue.read().waiting[0]).config().name == "tonight"
    assert [button.text() for button in toasts.findChildren(QPushButton) if button.text()] == ["Undo", "Show"]
    press(toasts, "Undo")
    qtbot.waitUntil(lambda: names(context.workspace) == [])


def test_wrong_settings_are_not_queued_but_led_to(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "runs")
    context.draft.set("loop.epochs", 0)
    window.controller.actions.actions["queue"].trigger()
    assert window.rail.current() == "setup"
    assert not (context.workspace / "queue").exists()


def test_a_run_of_the_queue_does_not_draw_a_window_that_opens_to_itself(qtbot: QtBot, context: AppContext) -> None:
    (entry,) = add(context.workspace, "one")
    with worker_process(context.workspace):
        run = begin(context.workspace, entry)
        claim(run.path)
        window = open_window(qtbot, context, "setup")
        settle(qtbot, context)
        assert context.library.running_elsewhere()
        assert window.rail.current() == "setup"
        assert window.status.queue.text() == "Queue: 1 running"
        release(run.path)


def test_a_window_closes_without_a_question_while_the_queue_trains(qtbot: QtBot, context: AppContext) -> None:
    (entry,) = add(context.workspace, "one")
    with worker_process(context.workspace) as process:
        begin(context.workspace, entry)
        window = open_window(qtbot, context, "studies")
        qtbot.waitUntil(lambda: bool(context.queue.overview.list_state("at work")))
        with qtbot.waitSignal(window.closed):
            window.close()
        assert process.poll() is None
