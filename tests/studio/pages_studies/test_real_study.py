"""A whole small study through the window, by the engine's own interpreter: told, begun, stopped, gone on with, and its result."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.pages.studies.finders.results.spread_view import SpreadView
from studio.state.context import AppContext
from tests.studio.pages_studies.conftest import studies_tab
from tests.studio.window_driver import open_window
from training.studies.folder import StudyFolder

_LONG = 150_000  # milliseconds: several processes load torch one after the other


def list_counts(view: SpreadView) -> list[int]:
    """How many values each strip shows."""
    return [len(strip.values) for strip in view.strips.strips]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_seeds_from_the_question_to_the_answer(qtbot: QtBot, context: AppContext, workspace: Path) -> None:
    assert context.open_config("preset:spiral")
    context.draft.apply({"dataset.samples": 300, "loop.epochs": 1, "schedule.warmup": 0})
    window = open_window(qtbot, context, "studies")
    tab = studies_tab(window)
    tab.open_new("seeds")
    dialog = tab.dialog
    assert dialog is not None
    dialog.form.rows["seeds"].edited.emit("seeds", 2)
    dialog.measure.click()
    qtbot.waitUntil(lambda: not context.studies.is_busy, timeout=_LONG)
    assert dialog.problem.text() == ""
    assert "2 runs of " in dialog.words.text()
    assert "of the disk" in dialog.words.text()
    dialog.start.click()
    job, detail = context.studies.job, tab.detail
    assert job.folder is not None
    study = StudyFolder(job.folder)
    qtbot.waitUntil(lambda: bool(study.runs()), timeout=_LONG)
    job.stop()
    qtbot.waitUntil(lambda: not job.is_busy, timeout=_LONG)
    if study.result() is None:  # a machine may be quicker than the question to stop
        qtbot.waitUntil(detail.head.go_on.isVisible)
        assert not job.problem
        detail.head.go_on.click()
        qtbot.waitUntil(lambda: not job.is_busy, timeout=_LONG)
    assert not job.problem
    qtbot.waitUntil(lambda: detail.head.pill.text() == "Done")
    qtbot.waitUntil(lambda: isinstance(detail.view, SpreadView) and list_counts(detail.view) == [2])
    qtbot.waitUntil(lambda: "over 2 seeds" in detail.sentence.text())
    context.library.refresh()
    qtbot.waitUntil(lambda: len(context.library.runs) == 2)
    assert all(study.id in run.about.tags for run in context.library.runs)
