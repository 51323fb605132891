"""What the window knows of the queue: true whoever changes it, and whoever dies."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock
from pytestqt.qtbot import QtBot

from studio.services.keep_awake import KeepAwake
from studio.state.context import AppContext
from studio.state.run_queue import describe_queue, explain_sharing
from studio.state.staying_awake import StayingAwake
from tests.studio.queue_driver import add, begin, worker_process
from training.queue.store import FILE, Queue
from training.queue.workers import be_worker


def test_what_another_process_does_shows_by_itself(qtbot: QtBot, context: AppContext) -> None:
    assert not context.workspace.exists()
    context.queue.refresh()
    qtbot.waitUntil(lambda: context.queue.loaded)
    assert describe_queue(context.queue) == ""
    add(context.workspace, "one", "two")  # the workspace itself is new
    context.queue.refresh()
    qtbot.waitUntil(lambda: describe_queue(context.queue) == "Queue: 2 waiting, not started")
    other = Queue(context.workspace)
    other.set_paused(True)  # from here on nobody asks for a look
    qtbot.waitUntil(lambda: describe_queue(context.queue) == "Queue paused: 2 waiting")
    other.remove("1", lambda entry: False)
    qtbot.waitUntil(lambda: describe_queue(context.queue) == "Queue paused: 1 waiting")
    other.remove("2", lambda entry: False)
    qtbot.waitUntil(lambda: describe_queue(context.queue) == "")


def test_the_first_entry_of_a_workspace_shows_by_itself(qtbot: QtBot, context: AppContext) -> None:
    context.workspace.mkdir(parents=True)
    context.queue.refresh()
    qtbot.waitUntil(lambda: context.queue.loaded)
    add(context.workspace, "one")
    qtbot.waitUntil(lambda: describe_queue(context.queue) == "Queue: 1 waiting, not started")


def test_what_comes_long_after_its_folder_shows_by_itself(qtbot: QtBot, context: AppContext) -> None:
    context.workspace.mkdir(parents=True)
    context.queue.refresh()
    qtbot.waitUntil(lambda: context.queue.loaded)
    queue = Queue(context.workspace)

    def make(folder: Path) -> None:
        folder.mkdir()
        qtbot.waitUntil(lambda: str(folder) in context.queue._watcher.directories())

    make(queue.folder)
    add(context.workspace, "one")
    qtbot.waitUntil(lambda: describe_queue(context.queue) == "Queue: 1 waiting, not started")
    make(queue.folder / "workers")
    with be_worker(queue, "any"):
        qtbot.waitUntil(lambda: bool(context.queue.overview.workers))


@pytest.mark.parametrize("what", ["a worker", "the queue"])
def test_who_closes_the_window_waits_neither_for_a_worker_to_begin_nor_for_the_queue(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """To wait would be to hang here for ever."""
    add(context.workspace, "one")
    begun: list[object] = []

    def begin_nothing(*_: object) -> SimpleNamespace:
        begun.append(True)
        return SimpleNamespace(pid=-1, poll=lambda: None)

    def pause(queue: Queue) -> None:
        begun.append(True)
        queue.set_paused(True)

    monkeypatch.setattr("training.queue.start._START_SECONDS", 1e9)
    monkeypatch.setattr("training.queue.start._start", begin_nothing)
    monkeypatch.setattr("training.queue.store._WAIT_SECONDS", 1e9)
    if what == "a worker":
        context.queue.start("any", begun.append, begun.append)
        qtbot.waitUntil(lambda: bool(begun))
        context.background.close()
    else:
        with FileLock(context.workspace / "queue" / ".lock"):
            context.queue.submit(pause, begun.append, begun.append)
            qtbot.waitUntil(lambda: bool(begun))
            context.background.close()
    qtbot.wait(50)
    assert begun == [True]
    assert not Queue(context.workspace).read().paused


def test_a_worker_that_is_killed_says_nothing_and_is_missed_all_the_same(qtbot: QtBot, context: AppContext) -> None:
    first, _second = add(context.workspace, "one", "two")
    with worker_process(context.workspace) as process:
        begin(context.workspace, first)
        context.queue.refresh()
        qtbot.waitUntil(lambda: describe_queue(context.queue) == "Queue: 1 running, 1 waiting")
        assert explain_sharing(context.queue).startswith("The queue is training “one”")
        process.kill()
        process.wait()
        qtbot.waitUntil(lambda: describe_queue(context.queue) == "Queue: 1 interrupted, 1 waiting, not started")
    assert explain_sharing(context.queue) == ""
    assert context.queue.overview.left_alone


def test_nobody_is_looked_after_while_the_window_is_hidden_or_nobody_works(qtbot: QtBot, context: AppContext) -> None:
    add(context.workspace, "one")
    context.queue.refresh()
    qtbot.waitUntil(lambda: context.queue.loaded)
    beat = context.queue._beat
    assert not beat.isActive()
    with worker_process(context.workspace):
        qtbot.waitUntil(beat.isActive)
        context.queue.set_window_shown(False)
        assert not beat.isActive()
        context.queue.set_window_shown(True)
        assert beat.isActive()


def test_a_damaged_file_is_told_until_it_is_mended(qtbot: QtBot, context: AppContext) -> None:
    add(context.workspace, "one")
    path = context.workspace / "queue" / FILE
    whole = path.read_bytes()
    path.write_text("{", encoding="utf-8")
    context.queue.refresh()
    qtbot.waitUntil(lambda: describe_queue(context.queue) == "Queue cannot be read")
    assert "delete it to begin with an empty queue" in context.queue.problem
    path.unlink()
    qtbot.waitUntil(lambda: describe_queue(context.queue) == "")
    path.write_bytes(whole)
    qtbot.waitUntil(lambda: describe_queue(context.queue) == "Queue: 1 waiting, not started")


def test_a_run_that_the_queue_begins_or_ends_is_listed_at_once(qtbot: QtBot, context: AppContext) -> None:
    (entry,) = add(context.workspace, "one")
    context.queue.refresh()
    qtbot.waitUntil(lambda: context.queue.loaded)
    assert not context.library.loaded
    run = begin(context.workspace, entry)
    qtbot.waitUntil(lambda: context.library.find(run.id) is not None)


def test_the_computer_stays_awake_while_the_queue_trains(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []
    keeper = KeepAwake()
    monkeypatch.setattr(keeper, "hold", held.append)
    context.settings.update(keep_awake=True)
    awake = StayingAwake(context.live, (), context.queue, context.settings, keeper)
    (entry,) = add(context.workspace, "one")
    with worker_process(context.workspace) as process:
        context.queue.refresh()
        qtbot.waitUntil(lambda: bool(context.queue.overview.workers))
        assert held == []  # it only waits
        begin(context.workspace, entry)
        qtbot.waitUntil(lambda: set(held) == {process.pid})
    awake.leave()
