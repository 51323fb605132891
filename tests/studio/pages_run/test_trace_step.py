"""*Trace this step* from the Run page: offered where the cause is not known to the bit, and what it finds takes the place of the guess."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from studio.engine.side_command import Answer
from studio.pages.run.findings import CANCEL_TRACE, TRACE
from studio.pages.run.page import RunPage
from studio.state import side_job
from studio.state.context import AppContext
from studio.widgets import Banner
from tests.studio.pages_run.test_findings import found, make_run, titles
from tests.studio.pages_run.test_prove import FakeCommand
from tests.studio.window_driver import open_window, press, run_page
from tests.training.engine.nonfinite.sources import settings_of
from tests.training.engine.nonfinite.test_trace import RANDOM
from training.config import RunConfig
from training.engine.recovery import nonfinite
from training.engine.runs.run import start_run
from training.events import Finding, StepSkipped
from training.findings.nonfinite import NONFINITE
from training.runs.folder import RunFolder

MakeConfig = Callable[..., RunConfig]


def guess(step: int, **changes: object) -> Finding:
    given = {"code": NONFINITE.code, "step": step, "since": None, "evidence": {"exact": False}, **changes}
    return found(f"Step {step} was skipped.", **given)


def show(qtbot: QtBot, context: AppContext, folder: RunFolder, count: int) -> RunPage:
    page = run_page(open_window(qtbot, context))
    context.open_run(folder.path)
    qtbot.waitUntil(lambda: page.findings.count >= count)
    return page


def offers(page: RunPage) -> dict[str, list[str]]:
    """The buttons that have to do with traces, by the titles of the findings."""
    return {
        banner.message[1]: [each.text() for each in banner.findChildren(QPushButton) if "race" in each.text()]
        for banner in page.findings.findChildren(Banner)
    }


def press_trace(page: RunPage, title: str, text: str) -> None:
    banner = next(each for each in page.findings.findChildren(Banner) if each.message[1] == title)
    press(banner, text)


def test_a_trace_is_offered_where_the_cause_is_a_guess(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    known, measured = (
        guess(5, place="b", evidence={"exact": True}),
        guess(9, place="c", evidence={"part": "validation"}),
    )
    folder = make_run(context.workspace, config(), guess(7, place="a"), known, measured, found("Too high."))
    page = show(qtbot, context, folder, 4)
    assert [title for title, texts in offers(page).items() if texts == [TRACE]] == ["Step 7 was skipped."]


def test_a_trace_can_be_canceled_and_tells_what_stopped_it(
    qtbot: QtBot, context: AppContext, config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_job, "SideCommand", FakeCommand)
    skips = StepSkipped(step=7, epoch=0), StepSkipped(step=12, epoch=0)
    folder = make_run(context.workspace, config(), *skips, guess(7, place="a"), guess(12, place="b"))
    page = show(qtbot, context, folder, 2)
    press_trace(page, "Step 7 was skipped.", TRACE)
    qtbot.waitUntil(lambda: offers(page)["Step 7 was skipped."] == [CANCEL_TRACE])
    assert FakeCommand.last.words[:4] == ["doctor", str(folder.path), "--trace", "7"]
    assert any("computed again from the beginning: 7 steps" in text for text in page.findings.captions())
    press_trace(page, "Step 12 was skipped.", TRACE)  # one at a time
    assert FakeCommand.last.words[3] == "7"
    press_trace(page, "Step 7 was skipped.", CANCEL_TRACE)
    assert FakeCommand.last.stopped
    FakeCommand.last.told(Answer(-1, "", ""))
    qtbot.waitUntil(lambda: offers(page)["Step 7 was skipped."] == [TRACE])
    assert not any("computed again" in text for text in page.findings.captions())
    press_trace(page, "Step 12 was skipped.", TRACE)
    qtbot.waitUntil(lambda: FakeCommand.last.words[3] == "12")
    FakeCommand.last.told(Answer(2, "", "The data is not what it was."))
    qtbot.waitUntil(lambda: any("The data is not what it was." in text for text in page.findings.captions()))
    missing = guess(20, place="never")
    page.found.findings.add(missing)
    qtbot.waitUntil(lambda: page.findings.count == 3)
    press_trace(page, missing.title, TRACE)
    qtbot.waitUntil(lambda: any("step 20 of the run" in text for text in page.findings.captions()))


@pytest.mark.slow
def test_what_a_trace_finds_takes_the_place_of_the_guess(
    qtbot: QtBot, context: AppContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the real process: the network's log of a negative number is named, with its module."""
    monkeypatch.setattr(nonfinite, "explain", lambda session, skip, *more: guess(skip.step))
    folder = RunFolder(Path(start_run(settings_of(RANDOM, tmp_path), context.workspace).folder))
    page = show(qtbot, context, folder, 1)
    press_trace(page, "Step 6 was skipped.", TRACE)
    qtbot.waitUntil(lambda: any("second.1" in title and "log" in title for title in titles(page)))
    assert "Step 6 was skipped." not in titles(page)
    assert all(not texts for texts in offers(page).values())
