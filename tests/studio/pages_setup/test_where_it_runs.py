"""Where it runs, on a Setup page whose engine answers when the test says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from studio.engine.messages import EngineState
from studio.engine.side_command import Answer
from studio.pages.setup.page import SetupPage
from studio.pages.setup.timing_dialog import TimingDialog
from studio.state import scaling_query
from tests.studio.keyboard_walk import wait_for_soundness
from tests.studio.pages_setup.fakes import FakeContext, branch_from_draft
from training.protocol.answers import RunTime
from training.protocol.messages import Ready


class FakeCommand(QObject):
    """Ends when the test says so."""

    asked: list[FakeCommand] = []  # noqa: RUF012 - each test has its own

    def __init__(
        self, parent: QObject, python: str, words: Sequence[str], told: Callable[[Answer], object], hold: bool
    ) -> None:
        super().__init__(parent)
        self.words, self.told, self.is_stopped = list(words), told, False
        FakeCommand.asked.append(self)

    def stop(self) -> None:
        self.is_stopped = True


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[FakeCommand]:
    monkeypatch.setattr(scaling_query, "SideCommand", FakeCommand)
    monkeypatch.setattr(FakeCommand, "asked", [])
    return FakeCommand.asked


def press(page: SetupPage, text: str) -> None:
    option: Any = next(each for each in page.where.focus_widgets() if each.accessibleName() == text)
    option.click()


def test_all_gpus_are_offered_where_there_are_several(page: SetupPage, context: FakeContext) -> None:
    context.engine.info = Ready(devices=("cpu", *(f"cuda:{number}" for number in range(4))))
    context.engine.state_changed.emit(EngineState.READY)
    press(page, "All GPUs (4)")
    assert (context.where.count, context.draft.value("loop.slots")) == (4, 4)
    assert "64 = 4 x 16" in page.where.words.text()
    assert "Each GPU" in page.where.words.text()
    assert not page.where.number.isVisible()


def test_more_processes_than_gpus_are_refused_beside_the_choice(page: SetupPage, context: FakeContext) -> None:
    context.engine.info = Ready(devices=("cpu", "cuda:0"))
    context.engine.state_changed.emit(EngineState.READY)
    press(page, "Several processes")
    assert "2 processes need as many GPUs, and there is 1 here" in page.where.sentence.text()
    page.where.fix.click()
    assert context.draft.value("precision.device") == "cpu"
    assert not page.where.problem


def test_a_branch_is_shared_as_any_run(page: SetupPage, context: FakeContext) -> None:
    press(page, "Several processes")
    branch_from_draft(context)
    assert "64 = 2 x 32" in page.where.words.text()
    context.draft.set("loop.slots", 3)
    assert page.where.words.isHidden()  # it would not be shared out so
    assert "3 slots cannot be shared out among 2 processes" in page.where.sentence.text()


def test_what_was_measured_is_shown_until_the_settings_are_others(
    page: SetupPage, context: FakeContext, commands: list[FakeCommand]
) -> None:
    press(page, "Several processes")
    page.where.measure.click()
    assert commands[0].words[0] == "scaling"
    assert commands[0].words[2:6] == ["--ranks", "2", "--json", "--while-held"]
    assert page.where.measure.text() == "Cancel"
    commands[0].told(Answer(0, json.dumps({"text": "1.7 x of one process", "poor": False}), ""))
    assert page.where.measured.text() == "1.7 x of one process"
    context.draft.set("loop.batch_size", 48)
    assert "not been measured" in page.where.measured.text()


def test_poor_scaling_is_a_warning_and_a_refusal_its_sentence(page: SetupPage, commands: list[FakeCommand]) -> None:
    press(page, "Several processes")
    page.where.measure.click()
    commands[0].told(Answer(1, json.dumps({"text": "1.1 x: slow", "poor": True}), ""))
    assert page.where.measured.property("role") == "problem"
    page.where.measure.click()
    commands[1].told(Answer(2, "", "Timing 1 process …\nThe folder is gone."))
    assert page.where.measured.text() == "The folder is gone."


def test_a_canceled_measurement_says_nothing(page: SetupPage, commands: list[FakeCommand]) -> None:
    press(page, "Several processes")
    page.where.measure.click()
    page.where.measure.click()
    assert commands[0].is_stopped
    commands[0].told(Answer(2, "", "The timing was ended before it was done."))
    assert "not been measured" in page.where.measured.text()


def test_a_run_that_is_started_ends_the_measurement(
    page: SetupPage, context: FakeContext, commands: list[FakeCommand]
) -> None:
    press(page, "Several processes")
    page.where.measure.click()
    context.set_problem("Another run is in progress.")
    assert commands[0].is_stopped
    commands[0].told(Answer(2, "", "The timing was ended before it was done."))
    assert not page.where.measure.isEnabled()


@pytest.fixture
def long_run(page: SetupPage) -> SetupPage:
    press(page, "Several processes")
    page.where.set_run_time(RunTime(step=1.0, validation=0.0, steps=7200, steps_per_epoch=100, validations=0))
    return page


def dialog_of(page: SetupPage) -> TimingDialog:
    (dialog,) = (each for each in page.window().findChildren(TimingDialog) if each.isVisible())
    return dialog


def test_before_a_long_run_measuring_is_advised(long_run: SetupPage) -> None:
    assert "measure before it begins" in long_run.where.measured.text()


def test_a_long_run_is_timed_before_it_begins_and_begins_where_that_is_worth_while(
    long_run: SetupPage, context: FakeContext, commands: list[FakeCommand]
) -> None:
    long_run.start()
    assert "about 2 h" in dialog_of(long_run).words.text()
    assert not context.started
    commands[0].told(Answer(0, json.dumps({"text": "1.7 x of one process", "poor": False}), ""))
    assert [config.loop.slots for config in context.started] == [2]


def test_processes_that_are_not_worth_while_are_a_choice(
    qtbot: QtBot, long_run: SetupPage, context: FakeContext, commands: list[FakeCommand]
) -> None:
    long_run.start()
    dialog = dialog_of(long_run)
    commands[0].told(Answer(1, json.dumps({"text": "0.6 x of one process: they are slower", "poor": True}), ""))
    assert dialog.words.text() == "0.6 x of one process: they are slower"
    assert not context.started
    wait_for_soundness(qtbot, dialog)
    dialog.one.click()
    assert context.where.count == 1
    assert [config.loop.slots for config in context.started] == [1]


def test_a_long_run_begins_at_once_where_that_is_asked_and_not_at_all_where_it_is_canceled(
    long_run: SetupPage, context: FakeContext, commands: list[FakeCommand]
) -> None:
    long_run.where.measure.click()
    context.draft.set("loop.batch_size", 48)  # what is timed is another run now
    long_run.where.set_run_time(RunTime(step=1.0, validation=0.0, steps=7200, steps_per_epoch=100, validations=0))
    long_run.start()
    assert commands[0].is_stopped
    commands[0].told(Answer(2, "", "The timing was ended before it was done."))
    assert len(commands) == 2
    dialog_of(long_run).reject()
    assert commands[1].is_stopped
    commands[1].told(Answer(2, "", "The timing was ended before it was done."))
    assert not context.started
    long_run.start()
    assert not dialog_of(long_run).one.isVisible()
    dialog_of(long_run).start_now.click()
    assert [config.loop.batch_size for config in context.started] == [48]
