"""Add to queue, beside Start."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.pages.setup.page import SetupPage
from studio.services.notifier import Notification
from tests.studio.pages_setup.fakes import FakeContext, FakeQueue, answer, branch_from_draft
from training.queue.entries import Entry
from training.queue.overview import Overview, Shown
from training.queue.store import Queue


@pytest.fixture
def queue(context: FakeContext, tmp_path: Path) -> FakeQueue:
    context.queue.queue = Queue(tmp_path)
    return context.queue


def test_what_the_forms_say_is_kept_as_it_is_now(
    qtbot: QtBot, page: SetupPage, context: FakeContext, queue: FakeQueue
) -> None:
    answer(context)
    told: list[Notification] = []
    context.notifier.notified.connect(told.append)
    context.set_problem("Another run is in progress.")
    assert not page.bar.start_button.isEnabled()
    qtbot.mouseClick(page.bar.queue_button, Qt.MouseButton.LeftButton)
    assert [entry.name for entry in queue.queue.read().waiting] == [context.draft.settings()[""]["name"]]
    (notice,) = told
    assert notice.text == "It is trained next. Nothing is trained before you start the queue."
    assert notice.other is not None
    notice.other()
    assert context.shown == ["studies/queue"]
    assert notice.action is not None
    notice.action()
    assert queue.queue.read().waiting == ()
    assert context.started == []


def test_wrong_settings_disable_it_with_the_reason(page: SetupPage, context: FakeContext) -> None:
    answer(context)
    assert page.bar.queue_button.isEnabled()
    context.draft.set("loop.epochs", 0)
    assert not page.bar.queue_button.isEnabled()
    assert page.bar.queue_button.toolTip() == "1 setting to put right: Training loop › Epochs"
    context.draft.set("loop.epochs", 3)
    assert page.bar.queue_button.isEnabled()


def test_a_run_at_work_in_the_queue_is_told_beside_start(page: SetupPage, context: FakeContext) -> None:
    answer(context)
    entry = Entry(id="1", name="night", state="at work", worker="any")
    context.queue.overview = Overview(False, {}, (Shown(entry, "at work", "", 0),))
    context.queue.changed.emit()
    assert page.bar.reason.text() == "The queue is training “night”: a run started now shares the machine with it."
    assert page.bar.reason.property("role") == "help"
    assert page.bar.start_button.isEnabled()
    context.queue.overview = Overview(False, {}, ())
    context.queue.changed.emit()
    assert page.bar.reason.text() == ""


def test_a_branch_cannot_be_queued_which_is_said(page: SetupPage, context: FakeContext) -> None:
    answer(context)
    branch_from_draft(context)
    assert not page.bar.queue_button.isEnabled()
    assert page.bar.queue_button.toolTip().startswith(
        "A branch begins with a checkpoint, which the queue does not keep"
    )
    assert page.bar.start_button.isEnabled()
    context.cancel_branch()
    assert page.bar.queue_button.isEnabled()
