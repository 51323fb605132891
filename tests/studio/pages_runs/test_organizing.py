"""The Runs page as a person keeps order with it: filter, columns, groups, names, stars, tags, archive, the trash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from studio.pages.runs.page import RunsPage
from studio.state.context import AppContext
from studio.state.runs.run_library import RunSummary
from studio.state.runs.run_table import GROUP_ROLE, NAME, TAGS
from tests.studio.window_driver import open_window, press, runs_page
from training.config import RunConfig
from training.events import EpochEnded
from training.runs.folder import RunFolder, create_run
from training.runs.records.about import About, read_about, write_about
from training.runs.records.history import EventLog

MakeConfig = Callable[..., RunConfig]


def make_runs(workspace: Path, config: MakeConfig) -> list[RunFolder]:
    """Three repeats, and two of another rate; each with an accuracy."""
    folders = []
    for number in range(5):
        rate = 1e-3 if number < 3 else 1e-2
        folder = create_run(workspace, config(f"run {number}", seed=number, optimizer={"kind": "adamw", "lr": rate}))
        log = EventLog(folder.events_file)
        log.emit(EpochEnded(step=8, epoch=1, metrics={"val/accuracy": 0.5 + number / 10}))
        log.close()
        folder.write_status(folder.status().model_copy(update={"status": "completed"}))
        folders.append(folder)
    return folders


def shown(page: RunsPage) -> list[str]:
    return [str(page.model.index(row, NAME).data()).strip() for row in range(page.model.rowCount())]


def choose(page: RunsPage, *names: str) -> list[RunSummary]:
    page.table.clearSelection()
    flags = page.table.selectionModel().SelectionFlag.Select | page.table.selectionModel().SelectionFlag.Rows
    for row, name in enumerate(shown(page)):
        if name in names:
            page.table.selectionModel().select(page.model.index(row, NAME), flags)
    return page.table.chosen_runs()


def act(page: RunsPage, word: str) -> None:
    menu = page.organizer.make_menu()
    assert menu is not None
    next(action for action in menu.actions() if action.text() == word).trigger()


def test_a_filter_finds_runs_says_what_is_wrong_and_is_kept(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    make_runs(workspace, config)
    page = runs_page(open_window(qtbot, context, "runs"))
    qtbot.waitUntil(lambda: page.model.rowCount() == 5)
    page.search.setText("accuracy >= 0.7 and lr < 5e-3")
    qtbot.waitUntil(lambda: shown(page) == ["run 2"])
    page.search.setText("acuracy > 0.7")
    assert page.filter.problem.isVisible()
    assert "did you mean accuracy?" in page.filter.problem.text()
    assert shown(page) == ["run 2"]  # what cannot be read changes nothing
    page.search.setText("val/accuracy")  # as words, on the way to a filter: in no run
    qtbot.waitUntil(lambda: page.no_match.accessibleName().startswith("No run matches"))
    page.search.setText("val/accuracy >")
    assert page.no_match.accessibleName().startswith("The filter cannot be read yet")
    page.search.setText("lr > 5e-3")
    assert not page.filter.problem.isVisible()
    qtbot.waitUntil(lambda: shown(page) == ["run 4", "run 3"])
    page.filter._fill_menu()
    next(action for action in page.filter._menu.actions() if action.text() == "Save this filter").trigger()
    page.search.clear()
    page.filter._fill_menu()
    page.filter._menu.actions()[0].trigger()
    assert page.search.text() == "lr > 5e-3"
    page.search.clear()
    qtbot.keyClicks(page.search, "optimizer.l")
    assert page.filter.line.popup.isVisible()
    qtbot.keyClick(page.filter.line.popup, Qt.Key.Key_Down)
    qtbot.keyClick(page.filter.line.popup, Qt.Key.Key_Return)
    assert page.search.text() == "optimizer.lr"


def test_repeats_come_into_one_row_with_mean_std_and_their_number(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    make_runs(workspace, config)
    context.settings.update(run_columns="val/accuracy\noptimizer.lr")
    page = runs_page(open_window(qtbot, context, "runs"))
    qtbot.waitUntil(lambda: page.model.rowCount() == 5)
    page.view.group(("repeats",))
    qtbot.waitUntil(lambda: page.model.rowCount() == 2 and page.values.behind == 0)
    cells = [[page.model.index(row, column).data() for column in (TAGS + 1, TAGS + 2)] for row in range(2)]
    assert cells == [["85.00% ± 7.07% · n 2", "0.01"], ["60.00% ± 10.00% · n 3", "0.001"]]
    page.table.setCurrentIndex(page.model.index(1, NAME))
    qtbot.keyClick(page.table, Qt.Key.Key_Right)
    assert shown(page)[2:] == ["run 2", "run 1", "run 0"]
    assert len(page.table.chosen_runs()) == 3
    page.search.setText("accuracy < 0.75")  # what a group tells is told of the runs that are found
    qtbot.waitUntil(lambda: page.model.index(0, TAGS + 1).data() == "60.00% ± 10.00% · n 3")
    page.search.setText("accuracy < 0.65")
    qtbot.waitUntil(lambda: page.model.index(0, TAGS + 1).data() == "55.00% ± 7.07% · n 2")
    page.search.clear()
    page.view.group(("optimizer.lr", "dataset"))
    qtbot.waitUntil(lambda: page.model.rowCount() == 2)
    group = page.model.index(0, NAME).data(GROUP_ROLE)
    assert group.title == "lr 0.01 · dataset shapes · 2 runs"


def test_names_stars_tags_and_archive_are_changed_in_place_and_undone(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    folders = make_runs(workspace, config)
    window = open_window(qtbot, context, "runs")
    page = runs_page(window)
    qtbot.waitUntil(lambda: page.model.rowCount() == 5)
    page.table.choose(page.model.row_of(folders[4].id) or 0)
    page.table.setFocus()
    qtbot.keyClick(page.table, Qt.Key.Key_F2)
    editor = page.table.viewport().findChild(QLineEdit)
    assert editor is not None
    editor.setText("The good one")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "The good one" in shown(page))
    assert folders[4].config().name == "run 4"
    press(window.controller.toasts, "Undo")
    qtbot.waitUntil(lambda: "run 4" in shown(page))
    assert len(choose(page, "run 1", "run 2")) == 2
    assert page.organizer.isVisible()
    act(page, "Star")
    qtbot.waitUntil(lambda: [read_about(folder).star for folder in folders] == [False, True, True, False, False])
    qtbot.waitUntil(lambda: page.organizer.star.text() == "Remove star")
    page.search.setText("star")
    qtbot.waitUntil(lambda: shown(page) == ["run 2", "run 1"])
    page.table.selectAll()
    act(page, "Archive")
    qtbot.waitUntil(lambda: page.no_match.isVisible())
    assert page.no_match.accessibleName().startswith("Archived runs only")
    press(page.no_match, "Show archived runs")
    qtbot.waitUntil(lambda: page.model.rowCount() == 5)
    page.view.archived.setChecked(False)
    assert shown(page) == ["run 4", "run 3", "run 0"]
    page.search.setText("archived")  # a filter that speaks of them finds them
    assert shown(page) == ["run 2", "run 1"]
    page.search.clear()
    press(window.controller.toasts, "Undo")
    qtbot.waitUntil(lambda: len(shown(page)) == 5)
    write_about(folders[0], About(tags=("paper",)))
    context.library.refresh()
    qtbot.waitUntil(lambda: not page.table.isColumnHidden(TAGS))
    page.search.setText('"paper" in tags')
    assert shown(page) == ["run 0"]


def test_several_runs_go_to_the_trash_and_come_back_by_one_click(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    folders = make_runs(workspace, config)
    window = open_window(qtbot, context, "runs")
    page = runs_page(window)
    qtbot.waitUntil(lambda: page.model.rowCount() == 5)
    told: list[list[RunFolder]] = []
    page.table.chosen_changed.connect(told.append)
    choose(page, "run 0", "run 3")
    assert [folder.id for folder in told[-1]] == [folders[3].id, folders[0].id]
    page.table.setFocus()
    qtbot.keyClick(page.table, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: page.model.rowCount() == 3)
    assert not page.table.chosen_runs()
    qtbot.waitUntil(lambda: len(context.library.trash) == 2)
    press(window.controller.toasts, "Undo")
    qtbot.waitUntil(lambda: page.model.rowCount() == 5)
    assert all(folder.path.exists() for folder in folders)
    QApplication.processEvents()
