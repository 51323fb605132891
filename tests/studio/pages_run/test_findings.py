"""Findings of a run on its page: one entry for each code and place, on the curve where they happened, put away and taken back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from studio.pages.run.findings import NO_PROBLEM, PROVE, UNDO
from studio.pages.run.page import RunPage
from studio.panels.finding_marks import place_findings
from studio.panels.fix_dialog import APPLY_ANEW, BRANCH, OFFER, FixDialog
from studio.state.context import AppContext
from studio.widgets import Banner
from tests.studio.window_driver import answer_next_dialog, open_window, press, run_page
from training.config import RunConfig
from training.events import AttemptStarted, Completed, Event, Finding, PhaseChanged
from training.runs.folder import RunFolder, create_run
from training.runs.records.about import read_about
from training.runs.records.history import EventLog
from training.runs.records.series import STEP_ROW, SeriesWriter

MakeConfig = Callable[..., RunConfig]
CODE = "lr.unusual"


def attempt(step: int = 0) -> AttemptStarted:
    return AttemptStarted(attempt=1, step=step, total_steps=90, steps_per_epoch=30, epochs=3, device="cpu")


def found(title: str = "It is too high.", **changes: object) -> Finding:
    given = {"level": "warning", "code": CODE, "step": 40, "since": 30, **changes}
    return Finding(title=title, **given)  # type: ignore[arg-type]


def make_run(workspace: Path, config: RunConfig, *events: Event) -> RunFolder:
    """A run with these events on record."""
    folder = create_run(workspace, config)
    log = EventLog(folder.events_file)
    for event in (PhaseChanged(phase="preparing data"), attempt(), *events):
        log.emit(event)
    log.close()
    return folder


def titles(page: RunPage) -> list[str]:
    """Of what holds, from above."""
    banners = sorted(page.findings.findChildren(Banner), key=lambda banner: page.findings._column.indexOf(banner))
    return [banner.message[1] for banner in banners]


def quiet(page: RunPage) -> list[str]:
    """What holds no more, or is no problem here."""
    return [each.text() for each in page.findings._quiet.findChildren(QLabel)]


def test_the_newest_state_of_each_code_and_place_is_shown_the_worst_first(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    events = (
        found("4.12 is too high."), found("4.13 is too high.", step=50),
        found("It spiked.", code="data.scale", place="a", step=60, since=60), found("Bad.", level="error", code="data.scale", place="b"),
        found("It swung.", code="schedule.length"), found("It swung.", code="schedule.length", step=70, cleared_at=68),
    )  # fmt: skip
    folder = make_run(workspace, config(), *events, Completed(step=90))
    page = run_page(open_window(qtbot, context))
    context.open_run(folder.path)
    qtbot.waitUntil(lambda: page.findings.count == 3)
    assert titles(page) == ["Bad.", "4.13 is too high.", "It spiked."]
    assert quiet(page) == ["Cleared at step 68: It swung."]
    assert page.notices.text().startswith("Bad.")


def test_notes_are_counted_and_a_fix_that_is_set_already_is_not_offered(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    asked = config()
    note = found("It is noisy.", level="info", code="data.scale", fix={"optimizer.lr": asked.optimizer.lr})
    folder = make_run(workspace, asked, note, Completed(step=90))
    page = run_page(open_window(qtbot, context))
    context.open_run(folder.path)
    qtbot.waitUntil(lambda: titles(page) == ["It is noisy."])
    assert page.notices.text() == "1 note"
    offered = {each.text() for each in page.findings.findChildren(QPushButton)}
    assert not offered & {OFFER, PROVE}


def test_what_came_after_the_step_that_a_run_goes_on_from_is_void(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    before = found("Early.", step=20, since=10)
    cleared = found("Early.", step=60, since=10, cleared_at=55)
    resumed = (PhaseChanged(phase="preparing data"), attempt(30))
    folder = make_run(workspace, config(), before, cleared, found("Late.", code="data.scale", step=50), *resumed)
    page = run_page(open_window(qtbot, context))
    context.open_run(folder.path)
    qtbot.waitUntil(lambda: titles(page) == ["Early."])
    assert quiet(page) == []


def test_what_is_no_problem_here_is_put_away_and_taken_back(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    folder = make_run(workspace, config(), found(place="optimizer.lr"), Completed(step=90))
    page = run_page(open_window(qtbot, context))
    context.open_run(folder.path)
    qtbot.waitUntil(lambda: page.findings.count == 1)
    page.notices.open()
    press(page.findings, NO_PROBLEM)
    qtbot.waitUntil(lambda: quiet(page) == [f"{NO_PROBLEM}: It is too high."])
    assert page.findings.count == 0
    assert read_about(folder).dismissed == (f"{CODE}:optimizer.lr",)
    assert folder.config() == config()  # what ran is never edited
    assert page.charts.curves.board.plot("lr").marker_counts["warning"] == 0
    press(page.findings, UNDO)
    qtbot.waitUntil(lambda: page.findings.count == 1)
    assert read_about(folder).dismissed == ()


def test_a_mark_on_the_curve_opens_its_finding(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    folder = make_run(workspace, config(), found(place="optimizer.lr"), found("Swings.", code="schedule.length"))
    page = run_page(open_window(qtbot, context))
    context.open_run(folder.path)
    plot = page.charts.curves.board.plot("lr")
    qtbot.waitUntil(lambda: plot.marker_counts["warning"] == 1)
    plot.marker_clicked.emit(("finding", f"{CODE}:optimizer.lr"))  # of two at one step, the one told first
    assert page.notices.panel.isVisible()
    (marked,) = [banner for banner in page.findings.findChildren(Banner) if banner.property("marked")]
    assert marked.message[1] == "It is too high."


def test_settings_are_called_as_the_forms_call_them_and_the_mark_ends_with_its_run(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    first, second = (
        make_run(workspace, config(name), found("loop.clip_norm is 1.", advice=advice), Completed(step=90))
        for name, advice in (("one", "Set optimizer.lr."), ("two", ""))
    )
    page = run_page(open_window(qtbot, context))
    context.open_run(first.path)
    qtbot.waitUntil(lambda: page.findings.count == 1)
    (banner,) = page.findings.findChildren(Banner)
    assert banner.message[1:] == ("Gradient clipping (norm) is 1.", "Set Learning rate.")
    page.findings.select(CODE)
    context.open_run(second.path)
    qtbot.waitUntil(lambda: [each.message[2] for each in page.findings.findChildren(Banner)] == [""])
    assert not any(each.property("marked") for each in page.findings.findChildren(Banner))
    press(page.findings, NO_PROBLEM)
    qtbot.waitUntil(lambda: quiet(page) == [f"{NO_PROBLEM}: Gradient clipping (norm) is 1."])


def test_marks_are_folded_by_plot_and_step() -> None:
    marks = place_findings(
        [
            found("A."),
            found("B.", code="schedule.length", level="error"),
            found("C.", code="loss.flat"),
            found("D.", code="loss.flat", place="x", since=5, cleared_at=20),
            found("E.", code="data.scale", since=None, step=0),  # before the first step
            found("F.", code="", level="info", since=None),
        ]
    )
    assert [(mark.chart, mark.kind, mark.step, mark.until) for mark in marks] == [
        ("loss", "warning", 5, 20),
        ("lr", "error", 30, None),
        ("loss", "warning", 30, None),
    ]
    assert marks[1].text == "Step 30: 2 findings:\nA.\nB."
    assert marks[0].text == "Step 5: D. Cleared at step 20."


@pytest.mark.parametrize(
    ("since", "button", "words"),
    [(25, BRANCH, "goes on from the checkpoint of step 20, the last before step 25"), (5, APPLY_ANEW, "before step 5")],
)
def test_apply_leaves_the_run_before_it_began(
    qtbot: QtBot, context: AppContext, config: MakeConfig, since: int, button: str, words: str
) -> None:
    page = run_page(open_window(qtbot, context))
    context.start_run(config())
    qtbot.waitUntil(lambda: context.live.done_at is not None and not context.start_problem())
    folder = context.live.folder
    assert folder is not None
    page.found.findings.add(found(since=since, fix={"optimizer.lr": 5e-4}))
    qtbot.waitUntil(lambda: page.findings.count == 1)
    read = answer_next_dialog(qtbot, FixDialog, button)
    press(page.findings, OFFER)
    qtbot.waitUntil(lambda: context.live.folder not in (None, folder))
    assert words in read[0]


def test_help_opens_at_the_code(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path, qapp: QApplication
) -> None:
    folder = make_run(workspace, config(), found())
    page = run_page(open_window(qtbot, context))
    context.open_run(folder.path)
    qtbot.waitUntil(lambda: page.findings.count == 1)
    asked: list[str] = []
    context.help_requested.connect(asked.append)
    next(made for made in page.findings.findChildren(QPushButton) if made.text() == "Help").click()
    assert asked == [f"findings#{CODE}"]


def test_a_run_of_an_earlier_version_is_judged_when_it_is_opened(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    start = replace(attempt(), total_steps=600, steps_per_epoch=100, epochs=6)
    folder = make_run(workspace, config(), start, Completed(step=600))
    losses = [*np.linspace(2, 0.3, 200), *np.linspace(0.3, 5, 400)]
    writer = SeriesWriter(folder.series_file, STEP_ROW)
    writer.append(np.array([(step + 1, 1, 0, 0.1, loss, 1.0) for step, loss in enumerate(losses)], STEP_ROW))
    writer.close()
    page = run_page(open_window(qtbot, context))
    context.open_run(folder.path)
    qtbot.waitUntil(lambda: page.findings.count == 1)
    assert titles(page)[0].startswith("The training loss diverged")
    assert "diverged" not in folder.events_file.read_text()  # it is looked at, no more
