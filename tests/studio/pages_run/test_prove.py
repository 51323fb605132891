"""Prove from the Run page: what it takes, the work beside the window, and the proof that is kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import JsonValue
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from studio.charts.plots.plot import Plot
from studio.engine.side_command import Answer
from studio.pages.run.findings import PROVE
from studio.pages.run.page import RunPage
from studio.pages.run.prove_dialog import GONE, PROVED, ProveDialog
from studio.panels.fix_dialog import BRANCH, FixDialog
from studio.state import side_job
from studio.state.context import AppContext
from studio.widgets import Banner
from tests.studio.keyboard_walk import wait_for_soundness
from tests.studio.pages_run.test_findings import found
from tests.studio.window_driver import answer_next_dialog, open_window, run_page
from training.config import RunConfig
from training.prove.plan import plan_proof
from training.runs.records.history import EventLog
from training.runs.records.proofs import ArmResult, Difference, OrderResult, Proof, write_proof

MakeConfig = Callable[..., RunConfig]
FIX: dict[str, JsonValue] = {"optimizer.lr": 5e-4}


class FakeCommand:
    """Stands for the process; the test tells its end."""

    last: FakeCommand

    def __init__(
        self, parent: object, python: str, words: list[str], told: Callable[[Answer], object], hold: bool
    ) -> None:
        self.words, self.told, self.stopped = words, told, False
        FakeCommand.last = self

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def page(qtbot: QtBot, context: AppContext, config: MakeConfig, monkeypatch: pytest.MonkeyPatch) -> RunPage:
    """A run that is complete, with two findings, and no process that proves anything."""
    monkeypatch.setattr(side_job, "SideCommand", FakeCommand)
    made = run_page(open_window(qtbot, context))
    context.start_run(config())
    qtbot.waitUntil(lambda: context.live.done_at is not None and not context.start_problem())
    assert context.live.folder is not None
    log = EventLog(context.live.folder.events_file)
    log.emit(found("Too high.", place="optimizer.lr", since=25, fix=FIX))
    log.emit(found("Too long.", code="schedule.length", since=25, fix={"loop.clip_norm": 2.0}))
    log.close()
    context.live.refresh()
    qtbot.waitUntil(lambda: made.findings.count == 2)
    return made


def open_dialog(qtbot: QtBot, page: RunPage, title: str) -> ProveDialog:
    """The dialog of the finding with ``title``, once it knows what to do."""
    finding = next(each for each in page.found.findings.list_standing() if each.title == title)
    page.findings.prove_asked.emit(finding)
    dialog = page.found.dialog
    assert dialog is not None
    qtbot.waitUntil(lambda: "Looking for" not in dialog.words.text())
    return dialog


def make_proof(verdict: Any = "cures") -> Proof:
    order = OrderResult(
        seed=1, without=ArmResult(losses=(2.0, 9.0), fault="its loss grew"), with_=ArmResult(losses=(2.0, 1.0))
    )
    difference = Difference(metric="val/accuracy", before=0.5, after=0.9, value=0.4, low=0.3, high=0.5, better=True)
    training = Difference(metric="train/loss", before=9.0, after=1.0, value=-8.0)
    return Proof(
        key="lr-1", finding="lr.unusual:optimizer.lr", fix=FIX, start=20, started="From step 20.", steps=2, orders=(order, order, order),
        verdict=verdict, sentence="The loss falls with it, and grows without.", differences=(difference, training), created=1.0,
    )  # fmt: skip


def test_a_proof_is_started_followed_and_kept(qtbot: QtBot, page: RunPage, context: AppContext) -> None:
    run = page.found.findings.folder
    assert run is not None
    dialog = open_dialog(qtbot, page, "Too high.")
    assert "3 orders" in dialog.words.text()
    dialog.start.click()
    assert FakeCommand.last.words[:3] == ["prove", str(run.path), "lr.unusual:optimizer.lr"]
    assert dialog.cancel.isVisible()
    other = open_dialog(qtbot, page, "Too long.")  # while the first works
    assert "Another proof is under way" in other.problem.text()
    assert not other.start.isEnabled()
    run.proofs.mkdir()
    write_proof(run, make_proof())
    FakeCommand.last.told(Answer(0, "", ""))
    qtbot.waitUntil(other.start.isEnabled)
    again = open_dialog(qtbot, page, "Too high.")
    wait_for_soundness(qtbot, again)
    assert again.start.text() == "Prove again"
    assert again.start.isEnabled()  # by other steps than those that are planned now
    said = [each.text() for each in again.view.findChildren(QLabel)]
    assert "Cures it" in said
    assert any("+0.3 to +0.5" in text and "50.00% → 90.00%" in text for text in said)
    assert any("mean of the last third of the steps: 9 → 1" in text for text in said)
    assert len(again.view.findChildren(Plot)) == 3
    qtbot.waitUntil(lambda: any("Proof: The loss falls" in text for text in page.findings.captions()))


def test_what_would_come_out_the_same_is_not_proved_again(qtbot: QtBot, page: RunPage) -> None:
    run = page.found.findings.folder
    assert run is not None
    key = plan_proof(run, "lr.unusual:optimizer.lr").key
    run.proofs.mkdir()
    write_proof(run, make_proof().model_copy(update={"key": key}))
    dialog = open_dialog(qtbot, page, "Too high.")
    assert dialog.view.isVisible()
    assert not dialog.start.isEnabled()
    assert dialog.start.toolTip() == PROVED
    dialog.close()


def test_a_proof_is_offered_where_some_steps_can_show_something(
    qtbot: QtBot, page: RunPage, context: AppContext
) -> None:
    leak = found("It leaks.", code="table.target_leak", fix={"loop.clip_norm": 3.0})
    same = found("Nothing new.", code="data.scale", fix={"optimizer.kind": "adamw"})
    longer = found("Too short.", code="run.ends_too_early", fix={"loop.early_stopping_patience": 3})
    for each in (leak, same, longer):
        page.found.findings.add(each)
    qtbot.waitUntil(lambda: page.findings.count == 5)
    offers = {
        banner.message[1]: PROVE in [each.text() for each in banner.findChildren(QPushButton)]
        for banner in page.findings.findChildren(Banner)
    }
    assert [title for title, offered in offers.items() if offered] == ["Too high.", "Too long."]
    assert len(offers) == 5


def test_a_proof_that_fails_or_is_cancelled_says_so(qtbot: QtBot, page: RunPage) -> None:
    dialog = open_dialog(qtbot, page, "Too high.")
    dialog.start.click()
    dialog.cancel.click()
    assert FakeCommand.last.stopped
    FakeCommand.last.told(Answer(130, "", "Stopped."))
    assert dialog.start.isVisible()
    assert not dialog.problem.isVisible()
    dialog.start.click()
    FakeCommand.last.told(Answer(1, "", "much\nThe disk is full."))
    assert dialog.problem.text() == "The disk is full."
    dialog.close()


def test_a_dialog_outlives_the_run_it_is_about(qtbot: QtBot, page: RunPage, context: AppContext) -> None:
    run = page.found.findings.folder
    assert run is not None
    dialog = open_dialog(qtbot, page, "Too high.")
    context.shown.let_go(run)
    shutil.rmtree(run.path)
    dialog.start.click()
    assert dialog.words.text() == GONE
    assert not dialog.start.isEnabled()
    dialog.close()


def test_what_is_proved_is_applied_meanwhile_and_the_window_closed(
    qtbot: QtBot, page: RunPage, context: AppContext
) -> None:
    first = page.found.findings.folder
    assert first is not None
    open_dialog(qtbot, page, "Too high.").start.click()
    answer_next_dialog(qtbot, FixDialog, BRANCH)
    page.found.apply(next(each for each in page.found.findings.list_standing() if each.title == "Too high."))
    qtbot.waitUntil(lambda: context.live.folder not in (None, first) and context.live.done_at is not None)
    dialog = page.found.dialog
    assert dialog is not None
    assert dialog.cancel.isVisible()  # it is about the run that was left, which is proved on
    first.proofs.mkdir()
    write_proof(first, make_proof())
    FakeCommand.last.told(Answer(0, "", ""))
    qtbot.waitUntil(dialog.view.isVisible)
    assert page.findings.captions() == []  # another run is shown
    FakeCommand.last.told(Answer(0, "", ""))  # which reads again, while the window goes
    page.window().close()
    qtbot.waitUntil(lambda: not page.isVisible())
