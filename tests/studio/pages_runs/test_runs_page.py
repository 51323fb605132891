"""The Runs page: find a run, look at it, go on from it, delete it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication
from pytestqt.qtbot import QtBot

from studio.actions.trash_dialog import TrashDialog
from studio.charts.plots.legend import LegendEntry
from studio.charts.plots.plot_canvas import PlotArea
from studio.engine.state import RunState
from studio.pages.runs.page import RunsPage
from studio.panels.fix_dialog import APPLY_ANEW, FixDialog
from studio.state.context import AppContext
from studio.state.runs.run_table import BEST, DURATION, NAME, STARTED, STEP
from studio.theme import apply
from studio.widgets import SteadyLabel
from tests.studio.conftest import ENDLESS
from tests.studio.window_driver import answer_next_dialog, answer_next_question, open_window, press, runs_page
from training.config import RunConfig
from training.control import Command
from training.runs.folder import create_run
from training.runs.records.evaluation import note_evaluation
from training.runs.records.forms import BestCheckpoint
from training.runs.trash import trash_run

MakeConfig = Callable[..., RunConfig]


def train_to_the_end(qtbot: QtBot, context: AppContext, config: RunConfig) -> str:
    context.start_run(config)
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.engine.training)
    assert context.live.folder is not None
    return context.live.folder.id


def listed(qtbot: QtBot, page: RunsPage, statuses: list[str]) -> None:
    """The table shows how each run ended, newest first; what was read while they worked may stand there before."""
    page._context.library.refresh()
    qtbot.waitUntil(lambda: [page.model.runs_shown()[row].status for row in range(page.model.rowCount())] == statuses)


def click(qtbot: QtBot, button: QAbstractButton) -> None:
    qtbot.waitUntil(lambda: button.isVisible() and button.isEnabled())
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_without_runs_the_page_says_so(qtbot: QtBot, context: AppContext) -> None:
    page = runs_page(open_window(qtbot, context))
    qtbot.waitUntil(page.empty.isVisible)


def test_runs_that_are_being_read_are_said_to_be(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    create_run(workspace, config())
    page = runs_page(open_window(qtbot, context, "runs"))
    assert not context.library.loaded
    assert page.empty.isVisible()
    assert page.empty.accessibleName().startswith("Reading the runs …")
    assert not page.empty.button.isVisible()
    qtbot.waitUntil(page.table.isVisible)
    assert page.count.text() == "1"


def test_a_list_that_cannot_be_read_says_why(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise PermissionError("Permission denied")

    monkeypatch.setattr(context.library, "_read", refuse)
    page = runs_page(open_window(qtbot, context, "runs"))
    qtbot.waitUntil(lambda: page.empty.accessibleName() == "The runs cannot be listed. Permission denied")
    assert page.empty.isVisible()


def test_a_chosen_run_shows_curves_checkpoints_and_settings(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    page = runs_page(open_window(qtbot, context))
    run_id = train_to_the_end(qtbot, context, config("first"))
    train_to_the_end(qtbot, context, config("second", seed=7))
    listed(qtbot, page, ["completed"] * 2)
    page.show()
    context.show_page("runs")
    page.search.setText("fir")
    assert page.model.rowCount() == 1
    assert page.count.text() == "1 of 2"
    page.choose(run_id)
    assert page.detail.isVisible()
    series = page.detail.curves.board.plot("loss")._curves["train/loss"].series
    qtbot.waitUntil(lambda: len(series.raw.x) == 40)
    qtbot.waitUntil(lambda: len(page.detail.checkpoints.model.checkpoints) == 2)
    assert page.detail.config._table._values["Batch size"].text() == "1"
    page.search.clear()
    page.status.setCurrentText("Failed")
    assert page.model.rowCount() == 0
    assert not page.detail.isVisible()


def test_a_search_without_a_hit_says_so_and_shows_all_runs_again(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    for name in ("first", "second"):
        create_run(workspace, config(name))
    page = runs_page(open_window(qtbot, context, "runs"))
    qtbot.waitUntil(page.table.isVisible)
    assert not page.no_match.isVisible()
    page.status.setCurrentText("Training")
    qtbot.keyClicks(page.search, "zzz")
    assert page.no_match.isVisible()
    assert page.no_match.accessibleName().startswith("No run matches.")
    assert not page.table.isVisible()
    click(qtbot, page.no_match.button)
    assert (page.search.text(), page.status.currentText(), page.count.text()) == ("", "All runs", "2")
    assert page.table.isVisible()
    assert not page.no_match.isVisible()


def test_figures_are_read_whole_in_a_window_of_usual_size(
    qtbot: QtBot, qapp: QApplication, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    apply(qapp, "light")  # in the program's own type
    folder = create_run(workspace, config())
    best = BestCheckpoint(metric="val/loss", value=0.001234, step=4)
    record = {"status": "stopped", "step": 123_456, "total_steps": 234_560, "seconds": 86_390.0, "best": best}
    folder.write_status(folder.status().model_copy(update=record))
    window = open_window(qtbot, context, "runs")
    window.resize(1280, 800)
    page = runs_page(window)
    qtbot.waitUntil(lambda: page.model.rowCount() == 1)
    shown = [page.model.index(0, column).data() for column in (STEP, DURATION)]
    assert shown == ["123,456 / 234,560", "23 h 59 min"]
    for column in (BEST, STEP, STARTED, DURATION):
        assert page.table.sizeHintForColumn(column) <= page.table.columnWidth(column)
    assert page.table.columnWidth(NAME) > 140


def words_in_plots(page: RunsPage) -> set[str]:
    return {area.words.text() for area in page.detail.curves.findChildren(PlotArea) if area.words.isVisible()}


def test_a_run_that_is_being_read_says_so_and_nothing_else(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    page = runs_page(open_window(qtbot, context))
    for name in ("first", "second"):
        train_to_the_end(qtbot, context, config(name))
    listed(qtbot, page, ["completed"] * 2)
    folder = create_run(context.workspace, config("stub"))  # over before its first step
    folder.write_status(folder.status().model_copy(update={"status": "stopped", "step": 0}))
    listed(qtbot, page, ["stopped", "completed", "completed"])
    context.show_page("runs")
    board = page.detail.curves.board
    for row in (1, 2):
        page.choose(page.model.runs_shown()[row].id)
        assert words_in_plots(page) == {"Loading …"}  # and no figure of the run before it
        assert not any(value.text() for value in board.findChildren(SteadyLabel))
        qtbot.waitUntil(lambda: words_in_plots(page) != {"Loading …"})
        assert words_in_plots(page) == set()
        assert all(area.canvas.isVisible() for area in board.findChildren(PlotArea))  # drawn, not only told
        for entry in board.findChildren(LegendEntry):
            assert entry._value.geometry().right() <= entry.width()  # no half word
    page.choose(page.model.runs_shown()[0].id)
    qtbot.waitUntil(lambda: words_in_plots(page) == {"This run has not made a step.", "Nothing was validated."})


def test_a_run_shows_its_evaluation_class_by_class(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    page = runs_page(open_window(qtbot, context))
    run_id = train_to_the_end(qtbot, context, config("first"))
    listed(qtbot, page, ["completed"])
    page.show()
    context.show_page("runs")
    folder, card = page.model.runs_shown()[0].folder, page.detail.evaluation
    tables = {"recall": [0.75, None, 1.0], "confusion": [[3, 0, 1], [0, 0, 0], [0, 0, 4]]}
    note_evaluation(folder, "validation", 20, ["cat", "dog", "owl"], tables)
    note_evaluation(folder, "test", 40, ["cat"], {"recall": [0.5]})
    page.choose(run_id)
    qtbot.waitUntil(card.isVisible)
    shown = card.table.model()
    assert [shown.headerData(at, Qt.Orientation.Horizontal) for at in range(4)] == [
        "Name", "Recall", "Support (n)", "Most confused with",
    ]  # fmt: skip
    assert [shown.index(0, at).data() for at in range(4)] == ["cat", "75.00%", "4", "owl (1)"]
    assert shown.index(1, 1).data() == "–"
    card.table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    assert [shown.index(row, 0).data() for row in range(3)] == ["owl", "cat", "dog"]  # what is not known at the end
    middle = card.matrix._square().topLeft() + QPointF(2.5, 0.5) * card.matrix._cell()
    assert card.matrix.words_at(middle) == "“cat” predicted as “owl”: 1, 25.0% of this class"
    qtbot.waitUntil(lambda: card.matrix.height() > card.matrix._square().bottom())  # laid out
    corner = (middle - QPointF(15, 15)).toPoint()
    assert card.matrix.grab().toImage().pixelColor(corner).saturation() > 50  # wrong answers have a color
    card.part.set_current("test")
    assert shown.rowCount() == 1
    assert not card.matrix.isVisible()
    folder.evaluation_file.write_text("damaged")
    card.refresh()
    qtbot.waitUntil(card.isHidden)


def test_the_buttons_of_the_checkpoints_stay_beside_the_charts(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    window = open_window(qtbot, context)
    window.resize(1280, 800)
    page = runs_page(window)
    run_id = train_to_the_end(qtbot, context, config())
    names = [f"class {number}" for number in range(15)]
    assert context.live.folder is not None
    note_evaluation(context.live.folder, "validation", 20, names, {"recall": [0.5] * 15})
    listed(qtbot, page, ["completed"])
    context.show_page("runs")
    page.choose(run_id)
    detail = page.detail
    qtbot.waitUntil(lambda: detail.evaluation.isVisible() and detail.evaluation.height() > 400)
    qtbot.waitUntil(lambda: detail.checkpoints.branch.isVisible() and detail.checkpoints.branch.y() < 400)
    assert detail.checkpoints.height() < 420
    card = detail.evaluation
    assert card.matrix.isVisible() is False  # no counts were kept here
    counts = [[int(row == column) for column in range(15)] for row in range(15)]
    note_evaluation(context.live.folder, "validation", 20, names, {"recall": [0.5] * 15, "confusion": counts})
    card.refresh()
    qtbot.waitUntil(card.matrix.isVisible)
    qtbot.waitUntil(lambda: card.matrix.mapTo(card, card.matrix.rect().topLeft()).x() > card.table.width())  # beside it


def test_a_run_that_was_killed_before_its_first_checkpoint_is_started_over_from_here(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    page = runs_page(open_window(qtbot, context))
    context.start_run(config("dies"))
    qtbot.waitUntil(lambda: context.live.state is RunState.INTERRUPTED)
    listed(qtbot, page, ["interrupted"])
    context.show_page("runs")
    page.choose(page.model.runs_shown()[0].id)
    qtbot.waitUntil(page.detail.outcome.isVisible)
    qtbot.waitUntil(lambda: not context.start_problem())  # the engine's end was told, too
    assert page.detail.outcome._banner is not None
    assert page.detail.outcome._banner.accessibleName().endswith("it was killed. No checkpoint was saved.")
    assert page.detail.checkpoints.resume.main.text() == "Start over"
    qtbot.waitUntil(lambda: page.detail.checkpoints._empty.text() == "No checkpoint was saved.")
    seen: list[RunState] = []
    context.live.state_changed.connect(seen.append)
    click(qtbot, page.detail.checkpoints.resume.main)
    assert seen[0] is RunState.STARTING
    qtbot.waitUntil(lambda: context.live.state is RunState.INTERRUPTED and not context.engine.training)
    run = context.live.folder
    assert run is not None
    context.show_page("runs")
    qtbot.waitUntil(lambda: not context.library._busy)
    with qtbot.waitSignal(context.library.refreshed):
        context.library.refresh()  # what was read while it worked is past
    qtbot.waitUntil(page.detail.delete.isEnabled)
    press(page.detail.outcome, "Delete")
    qtbot.waitUntil(lambda: not run.path.exists())


def test_what_a_failure_proposes_is_applied_from_here(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    page = runs_page(open_window(qtbot, context, "runs"))
    context.start_run(config("fails"))
    qtbot.waitUntil(lambda: context.live.state is RunState.FAILED and not context.start_problem())
    failed = context.live.folder
    assert failed is not None
    listed(qtbot, page, ["failed"])
    context.show_page("runs")
    page.choose(failed.id)
    assert page.detail.outcome._banner is not None
    assert "Proposed: Name: fails → better" in page.detail.outcome._banner.accessibleName()
    answer_next_dialog(qtbot, FixDialog, APPLY_ANEW)
    press(page.detail.outcome, APPLY_ANEW)
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    assert context.live.folder not in (None, failed)


def test_branching_opens_the_setup_page(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    window = open_window(qtbot, context)
    page = runs_page(window)
    run_id = train_to_the_end(qtbot, context, config())
    listed(qtbot, page, ["completed"])
    context.show_page("runs")
    page.choose(run_id)
    qtbot.waitUntil(page.detail.checkpoints.export.isEnabled)
    assert "The run is complete at step 40." in page.detail.checkpoints.resume.main.toolTip()
    click(qtbot, page.detail.checkpoints.branch)
    assert window.rail.current() == "setup"
    assert context.branch is not None
    assert context.branch.checkpoint.step == 40


def test_deleting_is_undone_by_a_click_and_chooses_no_other_run(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    folders = [create_run(workspace, config()) for _ in range(3)]
    for folder in folders:
        folder.write_status(folder.status().model_copy(update={"status": "stopped"}))
    window = open_window(qtbot, context)
    page = runs_page(window)
    listed(qtbot, page, ["stopped"] * 3)
    page.choose(folders[1].id)
    click(qtbot, page.detail.delete)
    qtbot.waitUntil(lambda: not folders[1].path.exists())
    qtbot.waitUntil(lambda: page.trash.isVisible() and page.trash.text() == "Trash (1)")
    assert page.find_chosen() is None, "a second click must not throw away the next one"
    assert not page.detail.isVisible()
    press(window.controller.toasts, "Undo")
    qtbot.waitUntil(folders[1].path.exists)
    listed(qtbot, page, ["stopped"] * 3)
    qtbot.waitUntil(lambda: not page.trash.isVisible())


def test_the_trash_is_emptied_after_a_question(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    folders = [create_run(workspace, config()) for _ in range(2)]
    window = open_window(qtbot, context)
    for folder in folders:
        trash_run(folder)
    context.library.refresh()
    qtbot.waitUntil(lambda: len(context.library.trash) == 2)
    dialog = TrashDialog(context, window)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.table.selectRow(0)
    click(qtbot, dialog.restore)
    qtbot.waitUntil(lambda: dialog.table.rowCount() == 1)
    answer_next_question(qtbot, "Cancel")
    dialog.delete.click()
    assert len(list((workspace / "trash").iterdir())) == 1
    asked = answer_next_question(qtbot, "Delete")
    dialog.delete.click()
    assert asked[0].startswith("Delete 1 item, ")
    qtbot.waitUntil(lambda: not list((workspace / "trash").iterdir()))
    qtbot.waitUntil(lambda: not dialog.delete.isEnabled())


def test_a_run_at_work_can_be_watched_but_not_deleted(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    page = runs_page(open_window(qtbot, context))
    context.start_run(config(epochs=ENDLESS, milliseconds=10))
    qtbot.waitUntil(lambda: context.live.state is RunState.TRAINING)
    listed(qtbot, page, ["running"])
    context.show_page("runs")
    page.choose(page.model.runs_shown()[0].id)
    qtbot.waitUntil(lambda: page.detail.isVisible())
    assert not page.detail.delete.isEnabled()
    assert not page.detail.checkpoints.resume.isVisible()
    context.live.ask(Command.STOP)
    qtbot.waitUntil(lambda: context.live.state is RunState.STOPPED)
