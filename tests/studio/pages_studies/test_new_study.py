"""A new study: of what Setup holds, told how, and what it takes before it begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu, QToolButton
from pytestqt.qtbot import QtBot

from studio.pages.setup.page import SetupPage
from studio.pages.studies.finders.new_study import NewStudyDialog
from studio.window.main_window import MainWindow
from tests.studio.pages_studies.conftest import Commands, make_study, studies_tab
from training.config import RunConfig, load_config
from training.studies.folder import list_studies
from training.studies.kinds import STUDY_KINDS

MakeConfig = Callable[..., RunConfig]


def open_dialog(window: MainWindow, kind: str = "") -> NewStudyDialog:
    """The dialog, of what the draft holds."""
    tab = studies_tab(window)
    tab.open_new(kind)
    assert tab.dialog is not None
    return tab.dialog


def test_what_it_takes_is_told_and_then_it_begins(
    qtbot: QtBot, window: MainWindow, workspace: Path, commands: Commands
) -> None:
    context = window.controller.context
    context.draft.set("name", "frozen")
    dialog = open_dialog(window, "seeds")
    context.draft.set("name", "changed since")
    dialog.form.rows["seeds"].edited.emit("seeds", 7)
    dialog.measure.click()
    words = commands.last.words
    assert words[:2] == ["study", "seeds"]
    assert words[3:5] == ["--seeds", "7"]
    assert "--plan" in words
    assert load_config(Path(words[2])).name == "frozen"
    assert "Measuring some steps …" in dialog.progress.accessibleName()
    assert not dialog.form.isEnabled()
    assert context.start_problem()  # its timings would be false beside a run
    study = commands.last.plan(workspace)
    assert not Path(words[2]).exists()
    assert "about 30 s and up to 5 MB of the disk" in dialog.words.text()
    assert dialog.start.isVisible()
    plan = (study.path / "plan.json").read_bytes()
    (study.path / "plan.json").unlink()
    context.start_problem_changed.emit("")  # what is shown was read once
    assert "about 30 s and up to 5 MB of the disk" in dialog.words.text()
    (study.path / "plan.json").write_bytes(plan)
    dialog.start.click()
    assert commands.last.words[:3] == ["study", "--resume", str(study.path)]
    assert not dialog.isVisible()
    tab = studies_tab(window)
    qtbot.waitUntil(lambda: tab.detail.summary is not None and tab.detail.summary.id == study.id)
    commands.last.answer(130)


def test_what_is_not_agreed_to_is_removed(
    qtbot: QtBot, window: MainWindow, workspace: Path, commands: Commands
) -> None:
    dialog = open_dialog(window, "lr-range")
    dialog.measure.click()
    first = commands.last.plan(workspace)
    assert first.path.is_dir()
    dialog.form.rows["steps"].edited.emit("steps", 100)  # something else is asked for now
    assert dialog.measure.isVisible()
    qtbot.waitUntil(lambda: not first.path.exists())
    dialog.measure.click()
    second = commands.last.plan(workspace)
    dialog.reject()
    qtbot.waitUntil(lambda: not second.path.exists())
    assert list_studies(workspace) == []


def test_measuring_can_be_canceled_and_leaves_nothing(
    qtbot: QtBot, window: MainWindow, workspace: Path, commands: Commands
) -> None:
    dialog = open_dialog(window, "batch")
    dialog.measure.click()
    dialog.stop.click()
    assert commands.last.stopped
    commands.last.answer(130, error="Measuring some steps ...\nNothing was begun.")
    assert dialog.measure.isVisible()
    assert not dialog.problem.isVisible()
    dialog.measure.click()
    dialog.reject()
    assert commands.last.stopped
    study = commands.last.plan(workspace)  # it had just come about
    qtbot.waitUntil(lambda: not study.path.exists())


def test_why_it_cannot_be_planned_is_told(qtbot: QtBot, window: MainWindow, commands: Commands) -> None:
    dialog = open_dialog(window, "batch")
    dialog.measure.click()
    said = "dataset.kind: shapes has no exclude list, so no fold can be left out."
    commands.last.answer(2, error=f"Measuring some steps ...\n{said}")
    assert dialog.problem.text().startswith("Dataset type: shapes has no exclude list")
    dialog.measure.click()
    commands.last.answer(
        2, error="Measuring some steps ...\n/w: up to 2 TB are needed and 1 GB are free; free some space."
    )
    assert "up to 2 TB are needed" in dialog.problem.text()
    dialog.measure.click()
    commands.last.answer(2, error="--by time: the data tells no times of its samples; set x, or take --by class.")
    assert dialog.problem.text() == "Divided by: the data tells no times of its samples; set x, or divide by class."
    dialog.choose("seeds")
    assert not dialog.problem.isVisible()
    dialog.reject()


def test_what_was_typed_for_a_kind_stays_while_another_is_looked_at(window: MainWindow) -> None:
    dialog = open_dialog(window, "seeds")
    dialog.form.rows["seeds"].edited.emit("seeds", 7)
    first = dialog.form
    dialog.choose("lr-range")
    assert dialog.form.isVisible()
    assert not first.isVisible()
    assert dialog.form.words() == []
    dialog.choose("seeds")
    assert dialog.form.isVisible()
    assert dialog.form.words() == ["--seeds", "7"]
    dialog.reject()


def test_data_without_an_exclude_list_has_no_folds_and_says_so_at_once(window: MainWindow) -> None:
    dialog = open_dialog(window, "cv")
    assert not dialog.measure.isEnabled()
    card = dialog._cards["cv"]
    assert not card.isEnabled()
    assert card.toolTip().startswith("Leaving a fold out takes an exclude list, and “Synthetic shapes” has none: ")
    dialog.choose("batch")
    assert dialog.measure.isEnabled()
    assert not card.isEnabled()
    dialog.reject()


@pytest.mark.parametrize("kind", STUDY_KINDS)
def test_every_option_of_a_kind_can_be_told(window: MainWindow, kind: str) -> None:
    dialog = open_dialog(window, kind)
    form = dialog.form
    offered = {*form.rows, *(["against"] if form.against else []), *(["only"] if form.only else [])}
    assert offered == STUDY_KINDS[dialog.kind].options
    assert form.words() == []  # what is usual is left to the command line
    dialog.reject()


def test_options_that_are_wrong_are_said_beside_the_field(window: MainWindow) -> None:
    dialog = open_dialog(window, "lr-range")
    rows = dialog.form.rows
    for name, value, said in (
        ("seeds", 0, "Must be from 1 to 100."),
        ("seeds", "many", "is not a whole number; write for example 1, 20 or 128."),
        ("band", [1e-3], "Enter two numbers, the lowest and the highest rate, for example 1e-6, 1."),
        ("band", "abc", "Enter two numbers, the lowest and the highest rate"),
        ("band", "1e-5 to 1", "Enter two numbers, the lowest and the highest rate"),
        ("band", [1e-3, 5e-3], "Must be two rates"),
    ):
        rows[name].editor.set_value(value)
        rows[name].edited.emit(name, value)
        assert said in rows[name].sentence
        assert not dialog.measure.isEnabled()
        assert said in dialog.measure.toolTip()
        rows[name].reset_asked.emit(name)
        assert dialog.measure.isEnabled()
    rows["band"].edited.emit("band", [1e-5, 0.5])
    assert dialog.form.words() == ["--band", "1e-05", "0.5"]
    dialog.reject()


def test_settings_to_compare_with_are_chosen_from_a_list(window: MainWindow) -> None:
    dialog = open_dialog(window, "seeds")
    against = dialog.form.against
    assert against is not None
    entry = against.add()
    assert not dialog.measure.isEnabled()
    assert "Choose the setting" in against.problem
    entry.choose("optimizer.lr", 0.003)
    assert "is what the configuration says already" in against.problem.replace("That", "that")
    entry.choose("optimizer.lr", 0.01)
    assert dialog.form.words() == ["--against", "optimizer.lr=0.01"]
    assert entry.now.text() == "As configured: 0.003"
    other = against.add()
    other.choose("optimizer.lr", 0.02)
    assert "twice" in against.problem
    other.choose("optimizer.kind", "sgd")
    assert not against.problem
    assert dialog.form.words()[2:] == ["--against", "optimizer.kind=sgd"]
    other.gone.emit()
    entry.choose("optimizer.weight_decay", 3.0e9)
    assert against.problem
    dialog.reject()


def test_settings_to_take_back_are_ticked(window: MainWindow) -> None:
    context = window.controller.context
    context.draft.set("optimizer.weight_decay", 0.2)
    dialog = open_dialog(window, "ablation")
    only = dialog.form.only
    assert only is not None
    assert "optimizer.weight_decay" in only.list_ticked()
    texts = [item.text(0) for item in only.list.items()]
    assert any(text.startswith("Weight decay: 0.2 → ") for text in texts)
    only._turn.click()
    assert "Tick one setting at least." in dialog.measure.toolTip()
    item = next(item for item in only.list.items() if item.text(0).startswith("Weight decay"))
    only.list.itemClicked.emit(item, 0)
    assert dialog.form.words() == ["--only", "optimizer.weight_decay"]
    dialog.reject()


def test_a_wrong_draft_has_no_studies(window: MainWindow) -> None:
    context = window.controller.context
    tab = studies_tab(window)
    context.draft.set("optimizer.lr", "fast")
    assert not tab.new.isEnabled()
    assert "wrong" in tab.new.toolTip()
    assert not tab.empty.button.isEnabled()
    tab.open_new("")
    assert tab.dialog is None
    setup = window.page("setup")
    assert isinstance(setup, SetupPage)
    row = setup.show_setting("loop.batch_size")
    assert row is not None
    window.show_page("setup")
    told: list[Any] = []
    context.notifier.notified.connect(told.append)
    (flask,) = (each for each in row.findChildren(QToolButton) if each.accessibleName() == "Find a batch size …")
    flask.click()
    assert ["Mend them first" in each.text for each in told] == [True]
    assert setup.isVisible()
    context.draft.undo()
    assert tab.new.isEnabled()


def test_a_setting_leads_to_its_study(qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig) -> None:
    make_study(workspace, "seeds", config())
    setup = window.page("setup")
    assert isinstance(setup, SetupPage)
    for path, words, kind in (
        ("optimizer.lr", "Find a learning rate …", "lr-range"),
        ("loop.batch_size", "Find a batch size …", "batch"),
    ):
        row = setup.show_setting(path)
        assert row is not None
        (button,) = (each for each in row.findChildren(QToolButton) if each.accessibleName() == words)
        button.click()
        tab = studies_tab(window)
        assert tab.isVisible()
        dialog = tab.dialog
        assert dialog is not None
        assert dialog.kind == kind
        dialog.reject()
        window.show_page("setup")


def test_the_menu_of_a_setting_leads_to_its_study(qtbot: QtBot, window: MainWindow) -> None:
    setup = window.page("setup")
    assert isinstance(setup, SetupPage)
    row = setup.show_setting("loader.workers")
    assert row is not None
    place = row.rect().center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, row.mapToGlobal(place))
    QApplication.sendEvent(row, event)
    qtbot.waitUntil(lambda: QApplication.activePopupWidget() is not None)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    next(each for each in menu.actions() if each.text() == "Find what makes the steps faster …").trigger()
    menu.close()
    dialog = studies_tab(window).dialog
    assert dialog is not None
    assert dialog.kind == "speed"
    dialog.reject()
