"""The Runs page: find a run, look at it, go on from it, delete it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QStyledItemDelegate, QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from studio.actions.trash_dialog import TrashDialog
from studio.charts.plots.legend import LegendEntry
from studio.charts.plots.plot_canvas import PlotArea
from studio.engine.state import RunState
from studio.pages.run.page import RunPage
from studio.pages.runs.page import RunsPage
from studio.state.context import AppContext
from studio.state.runs.run_table import BEST, DURATION, NAME, STARTED, STEP
from studio.theme import apply
from studio.widgets import EmptyState, SteadyLabel
from tests.studio.window_driver import answer_next_question, open_by_enter, open_window, press, run_page, runs_page
from training.config import RunConfig
from training.runs.folder import create_run
from training.runs.records.about import update_about
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


def test_a_list_that_cannot_be_read_again_says_so(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_run(workspace, config())
    page = runs_page(open_window(qtbot, context, "runs"))
    qtbot.waitUntil(page.table.isVisible)

    def refuse() -> None:
        raise PermissionError("Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(context.library, "_read", refuse)
        context.library.refresh()
        qtbot.waitUntil(lambda: page.count.text() == "1 · may be old: the runs cannot be listed")
    assert page.count.toolTip() == "Permission denied"
    context.library.refresh()
    qtbot.waitUntil(lambda: page.count.text() == "1")


def test_a_run_is_found_and_opened_by_enter_or_by_a_double_click(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    window = open_window(qtbot, context)
    page = runs_page(window)
    run_id = train_to_the_end(qtbot, context, config("first"))
    other = train_to_the_end(qtbot, context, config("second", seed=7))
    listed(qtbot, page, ["completed"] * 2)
    context.show_page("runs")
    page.search.setText("fir")
    assert page.model.rowCount() == 1
    assert page.count.text() == "1 of 2"
    run = open_by_enter(qtbot, window, run_id)
    series = run.charts.curves.board.plot("loss")._curves["train/loss"].series
    qtbot.waitUntil(lambda: len(series.raw.x) == 40)
    qtbot.waitUntil(lambda: len(run.checkpoints.list.checkpoints) == 2)
    assert run.header._name.text() == "first"
    context.show_page("runs")
    page.search.clear()
    row = page.model.row_of(other)
    assert row is not None
    place = page.table.visualRect(page.model.index(row, NAME)).center()
    qtbot.mouseClick(page.table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert page.organizer.open.isVisible()
    qtbot.mouseDClick(page.table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert window.rail.current() == "run"
    qtbot.waitUntil(lambda: run.header._name.text() == "second")
    context.show_page("runs")
    page.status.setCurrentText("Failed")
    assert page.model.rowCount() == 0
    assert not page.organizer.isVisible()


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


def test_a_small_window_leaves_columns_out_and_says_so_and_a_damaged_run_says_what_is_wrong(
    qtbot: QtBot, qapp: QApplication, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    apply(qapp, "light")
    names = [f"photos-of-the-street-and-the-park-lr-{lr}-seed-1" for lr in (0.1, 0.01, 0.011)]
    folders = [create_run(workspace, config(name)) for name in names]
    folders[0].status_file.write_text("{")
    folders[0].config_file.write_text("kind = ")
    update_about(folders[1], lambda about: replace(about, tags=("baseline", "night")))
    window = open_window(qtbot, context, "runs")
    window.resize(900, 600)
    page = runs_page(window)
    qtbot.waitUntil(lambda: page.table.isVisible() and page.view.button.text().endswith(" hidden"))
    assert page.table.horizontalScrollBar().maximum() == 0
    assert "No room here for Step" in page.view.button.toolTip()
    option = QStyleOptionViewItem()
    option.rect = QRect(0, 0, 150, 38)
    delegate = page.table.itemDelegateForColumn(NAME)
    assert isinstance(delegate, QStyledItemDelegate)
    delegate.initStyleOption(option, page.model.index(1, NAME))
    assert (option.text[0], option.text.endswith("0.011-seed-1")) == ("…", True)
    page.choose(folders[0].id)
    qtbot.keyClick(page.table, Qt.Key.Key_Return)
    [toast] = window.controller.toasts.toasts()
    assert toast.title == f"“{folders[0].id}” is damaged"
    assert toast.text.startswith("status.json is damaged, and config.toml: not valid TOML: ")
    assert window.rail.current() == "runs"
    click(qtbot, page.organizer.delete)
    qtbot.waitUntil(lambda: not folders[0].path.exists())


def words_in_plots(page: RunPage) -> set[str]:
    return {area.words.text() for area in page.charts.curves.findChildren(PlotArea) if area.words.isVisible()}


def says_that_none_was_saved(page: RunPage) -> bool:
    empty = page.front().findChild(EmptyState)
    assert empty is not None
    return "No checkpoint was saved." in empty.accessibleName()


def test_a_run_without_a_step_says_so_after_one_with_curves(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    window = open_window(qtbot, context)
    page = runs_page(window)
    for name in ("first", "second"):
        train_to_the_end(qtbot, context, config(name))
    listed(qtbot, page, ["completed"] * 2)
    folder = create_run(context.workspace, config("stub"))  # over before its first step
    folder.write_status(folder.status().model_copy(update={"status": "stopped", "step": 0}))
    listed(qtbot, page, ["stopped", "completed", "completed"])
    run = run_page(window)
    board = run.charts.curves.board

    def is_drawn() -> bool:
        areas = board.findChildren(PlotArea)
        return words_in_plots(run) == set() and all(area.canvas.isVisible() for area in areas)

    for row in (1, 2):
        open_by_enter(qtbot, window, page.model.runs_shown()[row].id)
        qtbot.waitUntil(is_drawn)
        for entry in board.findChildren(LegendEntry):
            assert entry._value.geometry().right() <= entry.width()  # no half word
    open_by_enter(qtbot, window, page.model.runs_shown()[0].id)
    qtbot.waitUntil(lambda: words_in_plots(run) == {"No step of this run is on record.", "Nothing was validated."})
    assert not any(value.text() for value in board.findChildren(SteadyLabel))
    for tab in ("evaluate", "tryit"):
        run.show_tab(tab)
        qtbot.waitUntil(partial(says_that_none_was_saved, run))

    away = folder.path.rename(folder.path.with_name("away"))  # under the window's feet
    window.show_page("runs")
    window.show_page("run")
    qtbot.waitUntil(run.empty.isVisible)
    assert str(folder.path) in run.empty.accessibleName()
    away.rename(folder.path)
    window.show_page("runs")
    window.show_page("run")
    qtbot.waitUntil(run.header.isVisible)


def test_a_run_shows_its_evaluation_class_by_class(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    window = open_window(qtbot, context)
    page = runs_page(window)
    run_id = train_to_the_end(qtbot, context, config("first"))
    listed(qtbot, page, ["completed"])
    folder, card = page.model.runs_shown()[0].folder, run_page(window).charts.evaluation
    tables = {"recall": [0.75, None, 1.0], "confusion": [[3, 0, 1], [0, 0, 0], [0, 0, 4]]}
    note_evaluation(folder, "validation", 20, ["cat", "dog", "owl"], tables)
    note_evaluation(folder, "test", 40, ["cat"], {"recall": [0.5]})
    open_by_enter(qtbot, window, run_id)
    card.refresh()
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


def test_a_run_that_was_killed_before_its_first_checkpoint_is_started_over_from_here(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    window = open_window(qtbot, context)
    page = runs_page(window)
    context.start_run(config("dies"))
    qtbot.waitUntil(lambda: context.live.state is RunState.INTERRUPTED)
    listed(qtbot, page, ["interrupted"])
    context.live.detach()
    shown = open_by_enter(qtbot, window, page.model.runs_shown()[0].id)
    qtbot.waitUntil(lambda: shown.outcome.said is not None)
    qtbot.waitUntil(lambda: not context.start_problem())  # the engine's end was told, too
    assert shown.outcome._banner is not None
    assert shown.outcome._banner.accessibleName().endswith("it was killed. No checkpoint was saved.")
    assert shown.checkpoints.resume.main.text() == "Start over"
    qtbot.waitUntil(lambda: shown.checkpoints._empty.text() == "No checkpoint was saved.")
    seen: list[RunState] = []
    context.live.state_changed.connect(seen.append)
    click(qtbot, shown.checkpoints.resume.main)
    assert seen[0] is RunState.STARTING
    qtbot.waitUntil(lambda: context.live.state is RunState.INTERRUPTED and not context.engine.training)
    run = context.live.folder
    assert run is not None
    press(shown.outcome, "Delete")
    qtbot.waitUntil(lambda: not run.path.exists())


def test_branching_opens_the_setup_page(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    window = open_window(qtbot, context)
    page = runs_page(window)
    run_id = train_to_the_end(qtbot, context, config())
    listed(qtbot, page, ["completed"])
    shown = open_by_enter(qtbot, window, run_id)
    shown.show_tab("checkpoints")
    qtbot.waitUntil(shown.checkpoints.export.isEnabled)
    assert "The run is complete at step 40." in shown.checkpoints.resume.main.toolTip()
    click(qtbot, shown.checkpoints.resume.main)
    assert window.rail.current() == "setup"
    assert context.branch is not None
    assert context.branch.checkpoint.step == 40


def test_deleting_is_undone_by_a_click_and_chooses_no_other_run(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    folders = [create_run(workspace, config()) for _ in range(3)]
    for folder in folders:
        folder.write_status(folder.status().model_copy(update={"status": "stopped"}))
    window = open_window(qtbot, context, "runs")
    page = runs_page(window)
    listed(qtbot, page, ["stopped"] * 3)
    page.choose(folders[1].id)
    click(qtbot, page.organizer.delete)
    qtbot.waitUntil(lambda: not folders[1].path.exists())
    qtbot.waitUntil(lambda: page.trash.isVisible() and page.trash.text() == "Trash (1)")
    assert page.find_chosen() is None, "a second click must not throw away the next one"
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
