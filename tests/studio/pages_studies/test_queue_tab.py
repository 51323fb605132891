"""The Queue tab: what is at work, what waits, what had its turn, and what can be done with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from studio.actions.queueing import move_entry, remove_entries, retry_entries
from studio.pages.studies.queue.tab import QueueTab
from studio.pages.studies.queue.table import ENGINE, NAME, OUTCOME, PLACE, PROGRESS, STATE
from studio.pages.studies.queue.workers_row import WorkersRow
from studio.state.context import AppContext
from studio.widgets import Toast
from studio.window.main_window import MainWindow
from tests.studio.conftest import ENDLESS
from tests.studio.queue_driver import add, begin, names, worker_process
from tests.studio.window_driver import answer_next_question, open_window, press
from training.config import RunConfig, parse_config
from training.engines.search import name_environment
from training.errors import TrainingError
from training.queue.entries import Entry
from training.queue.store import FILE, Queue
from training.queue.workers import be_worker
from training.runs.folder import claim, create_run, release
from training.runs.owner import this_process


def open_tab(qtbot: QtBot, context: AppContext) -> tuple[MainWindow, QueueTab]:
    window = open_window(qtbot, context, "studies")
    tab = window.page("studies/queue")
    assert isinstance(tab, QueueTab)
    qtbot.waitUntil(lambda: context.queue.loaded)
    return window, tab


def column(tab: QueueTab, number: int) -> list[str]:
    return [str(tab.model.index(row, number).data()) for row in range(tab.model.rowCount())]


def words(tab: QueueTab) -> str:
    return " ".join(label.text() for label in tab.empty.findChildren(QLabel))


def toasts(window: MainWindow) -> list[str]:
    return [f"{toast.title} {toast.text}" for toast in window.controller.toasts.findChildren(Toast)]


def key(tab: QueueTab, pressed: Qt.Key, how: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(tab.table, pressed, how)


def test_an_empty_queue_says_where_runs_are_added(qtbot: QtBot, context: AppContext) -> None:
    window, tab = open_tab(qtbot, context)
    assert "The queue is empty" in words(tab)
    press(tab.empty, "Go to Setup")
    assert window.rail.current() == "setup"


def test_a_damaged_queue_says_what_to_do(qtbot: QtBot, context: AppContext) -> None:
    add(context.workspace, "one")
    (context.workspace / "queue" / FILE).write_text("{", encoding="utf-8")
    window, tab = open_tab(qtbot, context)
    assert "The queue cannot be read" in words(tab)
    assert "bring it back from a copy, or delete it" in words(tab)
    assert window.status.queue.text() == "Queue cannot be read"


def test_entries_stand_in_their_order_with_how_far_they_are_and_what_became_of_them(
    qtbot: QtBot, context: AppContext
) -> None:
    done, failed, working, *_ = add(context.workspace, "done", "failed", "working", "next", "last")
    begin(context.workspace, done, state="done", ended=1.0)
    begin(context.workspace, failed, state="failed", ended=2.0, reason="The loss is not finite.")
    begin(context.workspace, working)
    with be_worker(Queue(context.workspace), "any"):
        _window, tab = open_tab(qtbot, context)
        assert column(tab, NAME) == ["working", "next", "last", "failed", "done"]
        assert column(tab, STATE) == ["Training", "Waiting", "Waiting", "Failed", "Done"]
        assert column(tab, PLACE) == ["", "1", "2", "", ""]
        assert column(tab, PROGRESS)[0] == "Step 12 of 40"
        assert column(tab, OUTCOME)[3] == "The loss is not finite."
        assert "one after another, also while this window is closed" in tab.workers.sentence.text()
        tab.table.choose(failed.id)
        assert tab.why.text() == "“failed”: The loss is not finite."


def test_runs_are_put_into_another_order_by_buttons_and_keys(qtbot: QtBot, context: AppContext) -> None:
    workspace = context.workspace
    entries = add(workspace, "one", "two", "three")
    _window, tab = open_tab(qtbot, context)

    def becomes(order: Sequence[str]) -> None:
        qtbot.waitUntil(lambda: column(tab, NAME) == order)
        assert names(workspace) == order
        assert [shown.entry.name for shown in tab.table.list_chosen()] == ["three"]  # it goes along

    tab.table.choose(entries[2].id)
    assert not tab._acts["down"].isEnabled()
    assert tab._acts["down"].toolTip() == "It is the last one already."
    press(tab, "Up")
    becomes(["one", "three", "two"])
    press(tab, "Top")
    becomes(["three", "one", "two"])
    alt = Qt.KeyboardModifier.AltModifier
    key(tab, Qt.Key.Key_Down, alt)
    becomes(["one", "three", "two"])
    key(tab, Qt.Key.Key_End, alt)
    becomes(["one", "two", "three"])
    key(tab, Qt.Key.Key_Home, alt)
    becomes(["three", "one", "two"])


def test_what_is_removed_comes_back_to_its_place(qtbot: QtBot, context: AppContext) -> None:
    entries = add(context.workspace, "one", "two", "three", "four")
    window, tab = open_tab(qtbot, context)
    tab.table.choose(entries[1].id)
    QTest.keyClick(tab.table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert len(tab.table.list_chosen()) == 2
    key(tab, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: column(tab, NAME) == ["one", "four"])
    qtbot.waitUntil(lambda: toasts(window) == ["2 runs are out of the queue Nothing was trained yet."])
    press(window.controller.toasts, "Undo")
    qtbot.waitUntil(lambda: column(tab, NAME) == ["one", "two", "three", "four"])
    assert names(context.workspace) == ["one", "two", "three", "four"]


def test_what_had_its_turn_is_cleared_away_or_has_another(qtbot: QtBot, context: AppContext) -> None:
    done, failed = add(context.workspace, "done", "failed")
    begin(context.workspace, done, state="done", ended=2.0)
    run = begin(context.workspace, failed, state="failed", ended=1.0, reason="It was too large.")
    window, tab = open_tab(qtbot, context)
    tab.table.choose(done.id)
    assert not tab._acts["retry"].isEnabled()
    tab.table.choose(failed.id)
    press(tab, "Retry")
    qtbot.waitUntil(lambda: column(tab, STATE) == ["Waiting", "Done"])
    assert Queue(context.workspace).read().find(failed.id).run == run.id  # with which it goes on
    press(tab, "Clear ended")
    qtbot.waitUntil(lambda: column(tab, NAME) == ["failed"])
    qtbot.waitUntil(lambda: "“done” is out of the queue What it trained stays among the runs." in toasts(window))


def test_another_turn_is_taken_by_the_engine_that_is_chosen_now_or_by_the_runs_own(
    qtbot: QtBot, context: AppContext, tmp_path: Path
) -> None:
    there, gone = tmp_path / "there" / "bin" / "python", tmp_path / "gone" / "bin" / "python"
    there.parent.mkdir(parents=True)
    there.touch()
    queue, over = Queue(context.workspace), {"state": "stopped", "ended": 1.0}
    first, second, third = (
        queue.add(parse_config({"name": each.parents[1].name}), python=str(each)) for each in (there, gone, there)
    )
    for entry in (first, second, third):
        queue.note(entry.id, **over)
    _window, tab = open_tab(qtbot, context)
    assert sorted(column(tab, ENGINE)) == ["gone", "python", "python"]  # of an empty folder nobody knows what it is

    def retry(entry: Entry, answer: str) -> str:
        tab.table.choose(entry.id)
        asked = answer_next_question(qtbot, answer)
        press(tab, "Retry")
        return asked[0]

    now = name_environment(Path(sys.executable))
    assert retry(first, "Retry with python").startswith("Retry with the engine python?")
    qtbot.waitUntil(lambda: column(tab, STATE).count("Waiting") == 1)
    assert retry(second, f"Retry with {now}") == "The engine gone is gone"
    qtbot.waitUntil(lambda: column(tab, STATE).count("Waiting") == 2)
    retry(third, "Cancel")
    left = {entry.id: (entry.state, entry.python) for entry in queue.read().entries}
    assert left == {
        first.id: ("waiting", str(there)),
        second.id: ("waiting", sys.executable),
        third.id: ("stopped", str(there)),
    }


def test_one_run_is_asked_for_its_end_and_cannot_be_removed_before(qtbot: QtBot, context: AppContext) -> None:
    (entry,) = add(context.workspace, "one")
    begin(context.workspace, entry)
    with be_worker(Queue(context.workspace), "any"):
        _window, tab = open_tab(qtbot, context)
        tab.table.choose(entry.id)
        assert not tab._acts["remove"].isEnabled()
        assert tab._acts["remove"].toolTip() == "Stop the run first."
        press(tab, "Stop run")
        qtbot.waitUntil(lambda: column(tab, STATE) == ["Stopping"])
        assert Queue(context.workspace).read().find(entry.id).stop
        assert not tab._acts["stop"].isEnabled()


def test_the_run_of_an_entry_opens(qtbot: QtBot, context: AppContext) -> None:
    entry, waits = add(context.workspace, "one", "waits")
    run = begin(context.workspace, entry, state="stopped", ended=1.0)
    window, tab = open_tab(qtbot, context)
    tab.table.choose(waits.id)
    assert tab._acts["open"].toolTip() == "It has no run yet."
    tab.table.choose(entry.id)
    key(tab, Qt.Key.Key_Return)
    assert window.rail.current() == "run"
    assert context.shown.run.folder == run


def test_a_pause_is_begun_and_ended(qtbot: QtBot, context: AppContext) -> None:
    add(context.workspace, "one")
    _window, tab = open_tab(qtbot, context)
    press(tab.workers, "Pause")
    qtbot.waitUntil(lambda: tab.workers.pause_button.text() == "End pause")
    assert Queue(context.workspace).read().paused
    assert tab.workers.sentence.text() == "The queue is paused, and no process trains its runs."
    press(tab.workers, "End pause")
    qtbot.waitUntil(lambda: tab.workers.pause_button.text() == "Pause")
    assert not Queue(context.workspace).read().paused


def test_the_queue_is_started_by_the_engines_python_and_ends_a_pause(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, list[str]]] = []

    def start(queue: Queue, device: str, program: list[str]) -> object:
        started.append((device, program))
        return this_process()

    monkeypatch.setattr("studio.state.run_queue.start_worker", start)
    add(context.workspace, "one")
    Queue(context.workspace).set_paused(True)
    context.settings.update(engine_python="/another/python")
    _window, tab = open_tab(qtbot, context)
    press(tab.workers, "Start")
    qtbot.waitUntil(lambda: bool(started) and not context.queue.starting)
    assert started == [("any", ["/another/python", "-m", "training"])]
    qtbot.waitUntil(lambda: not context.queue.overview.paused)


def test_a_process_that_cannot_be_started_is_told(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise TrainingError("There is no such Python.")

    monkeypatch.setattr("studio.state.run_queue.start_worker", fail)
    add(context.workspace, "one")
    window, tab = open_tab(qtbot, context)
    press(tab.workers, "Start")
    qtbot.waitUntil(lambda: toasts(window) == ["The queue cannot do that There is no such Python."])
    assert tab.workers.start_button.isEnabled()


def test_one_process_is_started_or_ended_for_each_device(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr("studio.state.run_queue.start_worker", lambda queue, device, program: started.append(device))
    queue = Queue(context.workspace)
    add(context.workspace, "one")
    (context.workspace / "queue" / "workers").mkdir()
    (context.workspace / "queue" / "workers" / "cpu.log").write_text("[1] one: done\n", encoding="utf-8")
    with worker_process(context.workspace, "cuda:1") as process:
        _window, tab = open_tab(qtbot, context)
        menu = tab.workers._menu
        qtbot.waitUntil(lambda: context.engine.info is not None)
        menu.aboutToShow.emit()
        assert [action.text() for action in menu.actions()] == ["Start on cpu", "", "Open the log for cpu"]
        menu.actions()[0].trigger()
        qtbot.waitUntil(lambda: started == ["cpu"])
        press(tab.workers, "Stop")
        process.wait()
        qtbot.waitUntil(lambda: "o process trains its runs" in tab.workers.sentence.text())
    assert queue.read().waiting


def test_the_queue_says_for_whose_end_it_waits(
    qtbot: QtBot, context: AppContext, config: Callable[..., RunConfig]
) -> None:
    add(context.workspace, "one")
    context.start_run(config("mine", epochs=ENDLESS))
    qtbot.waitUntil(lambda: context.live.folder is not None)
    with worker_process(context.workspace):
        _window, tab = open_tab(qtbot, context)
        qtbot.waitUntil(
            lambda: tab.workers.sentence.text() == "It waits for the end of “mine”, which is trained outside the queue."
        )


def test_the_run_that_is_waited_for_has_its_name_as_soon_as_the_runs_are_read(
    qtbot: QtBot, context: AppContext
) -> None:
    add(context.workspace, "one")
    run = create_run(context.workspace, parse_config({"name": "by hand"}))
    claim(run.path)
    row = WorkersRow(context)
    qtbot.addWidget(row)
    with be_worker(Queue(context.workspace), "any"):
        context.queue.refresh()
        qtbot.waitUntil(lambda: run.id in row.sentence.text())
        context.library.refresh()
        qtbot.waitUntil(lambda: "“by hand”" in row.sentence.text())
    release(run.path)


def test_all_that_had_their_turn_come_back_however_many(qtbot: QtBot, context: AppContext) -> None:
    entries = add(context.workspace, *(f"run {number}" for number in range(105)))
    with Queue(context.workspace).change() as change:
        for entry in entries:
            change.note(entry.id, state="done", ended=1.0)
    window, tab = open_tab(qtbot, context)
    before = column(tab, NAME)
    assert len(before) == 105
    press(tab, "Clear ended")
    qtbot.waitUntil(lambda: column(tab, NAME) == [])
    qtbot.waitUntil(lambda: bool(toasts(window)))
    press(window.controller.toasts, "Undo")
    qtbot.waitUntil(lambda: column(tab, NAME) == before)


def test_what_cannot_be_done_is_said_in_the_windows_words(qtbot: QtBot, context: AppContext) -> None:
    first, second, _third = add(context.workspace, "one", "two", "three")
    window, _tab = open_tab(qtbot, context)
    one, two, three = context.queue.overview.shown
    queue = Queue(context.workspace)
    queue.remove(second.id, lambda _entry: False)
    begin(context.workspace, first)
    with be_worker(queue, "any"):
        remove_entries(context, [three, one])
        qtbot.waitUntil(lambda: any("“one” has begun; stop its run first." in said for said in toasts(window)))
        move_entry(context, two, "top")
        qtbot.waitUntil(lambda: any("“two” is not in the queue any more." in said for said in toasts(window)))
        retry_entries(context, [three])
        qtbot.waitUntil(lambda: any(" three is waiting; there is nothing" in said for said in toasts(window)))
    assert names(context.workspace) == ["three"]  # all that were meant, or none
