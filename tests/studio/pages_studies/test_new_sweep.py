"""A sweep before it is there: settings put in from their menus, the dialog, what cannot be made."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QMenu
from pytestqt.qtbot import QtBot

if find_spec("optuna") is None:
    pytest.skip("optuna is not installed: pip install 'trainwright[sweeps]'", allow_module_level=True)

from studio.forms.sweep_entry import PUT_IN, TAKE_OUT, add_sweep_entry
from studio.pages.setup.page import SetupPage
from studio.pages.studies.sweeps.new_dialog import NewSweepDialog
from studio.state.context import AppContext
from tests.studio.pages_studies.sweeps_driver import entry_of, sweeps_tab
from tests.studio.window_driver import open_window
from tests.training.tiny import tiny
from training.cli import main
from training.config import save_config
from training.sweeps.folder import list_sweeps


@pytest.fixture(autouse=True)
def made_workspace(workspace: Path) -> None:
    workspace.mkdir(parents=True, exist_ok=True)


def open_dialog(qtbot: QtBot, context: AppContext) -> NewSweepDialog:
    """A new sweep of a tiny configuration that varies the learning rate."""
    context.draft.set_config(tiny())
    window = open_window(qtbot, context, "studies/sweeps")
    entry_of(context, "optimizer.lr", PUT_IN)
    base = context.draft.config()
    assert base is not None
    dialog = NewSweepDialog(context, base, window)
    dialog.show()
    return dialog


def test_a_setting_goes_into_a_sweep_from_its_menu_and_shows_it(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "setup")
    page = window.page("setup")
    assert isinstance(page, SetupPage)
    form = next(form for form in page.forms if form.section == "optimizer")
    row = form.rows()["optimizer.lr"]
    asked: list[str] = []
    row.menu_asked.connect(lambda path, _at: asked.append(path))
    before = len(row.focus_widgets())
    entry_of(context, "optimizer.lr", PUT_IN)
    assert context.draft.swept.texts == {"optimizer.lr": "0.0003:0.03:log"}  # a decade to either side of what it is
    assert len(row.focus_widgets()) == before + 1  # the mark
    entry_of(context, "optimizer.lr", TAKE_OUT)
    assert context.draft.swept.texts == {}
    assert len(row.focus_widgets()) == before
    entry_of(context, "optimizer.lr", PUT_IN)
    entry_of(context, "optimizer.kind", PUT_IN)
    context.draft.swept.asked.emit("optimizer.lr")  # as the mark in the row does
    tab = sweeps_tab(qtbot, window)
    assert tab.isVisible()
    assert tab.prepared.message[1:] == ("2 settings in the sweep being prepared", "Learning rate, Optimizer")
    refused = QMenu()
    add_sweep_entry(refused, context.draft, "checkpoints.monitor")
    assert not refused.actions()[0].isEnabled()
    assert "trials are compared by one metric" in refused.actions()[0].text()


def test_the_dialog_makes_the_sweep_that_the_command_line_makes(
    qtbot: QtBot, context: AppContext, tmp_path: Path
) -> None:
    context.draft.set_config(tiny())
    window = open_window(qtbot, context, "studies/sweeps")
    base = context.draft.config()
    assert base is not None
    dialog = NewSweepDialog(context, base, window)
    dialog.show()
    assert not dialog.create_only.isEnabled()
    QTest.keyClicks(dialog.varied.search, "optimizer.weight_decay")
    QTest.keyClick(dialog.varied.search, Qt.Key.Key_Return)
    dialog.varied.search.chosen.emit("optimizer.lr")
    rate, decay = (dialog.varied.rows[path] for path in ("optimizer.lr", "optimizer.weight_decay"))
    rate.low.setText("1")
    rate.high.setText("1000")
    decay.low.setText("0")
    decay.high.setText("0.5")
    decay.scale.setCurrentIndex(decay.scale.findData("step"))
    qtbot.waitUntil(lambda: decay.problem() == "Enter the step.")
    decay.step.setText("0.125")
    qtbot.waitUntil(lambda: "100" in rate.problem())
    assert not dialog.create_only.isEnabled()
    assert dialog.problem.text() == "Learning rate needs attention."
    rate.low.setText("1e-4")
    rate.high.setText("")
    qtbot.waitUntil(lambda: rate.problem() == "Enter both ends of the range.")
    rate.high.setText("1e-1")
    dialog.options.seed.setText("7")
    dialog.options.trials.setText("0")
    dialog.options.hours.setText("-1")
    qtbot.waitUntil(lambda: dialog.problem.text() == "Trials, Hours of training need attention.")
    wrong = (dialog.options.trials, dialog.options.hours)
    assert all(line.property("invalid") for line in wrong)
    assert "must be more than 0." in next(
        said.text() for said in dialog.options.findChildren(QLabel) if said.text().startswith("Hours of training: ")
    )
    assert not dialog.create_only.isEnabled()
    dialog.options.hours.setText("")
    dialog.options.trials.setText("5")
    dialog.options.disk.setText("2")
    qtbot.waitUntil(dialog.create_only.isEnabled)
    assert dialog.expected.text().startswith("At most 5 trials, 2 GB of disk.")
    dialog.create_only.click()
    qtbot.waitUntil(lambda: dialog.made is not None)
    assert dialog.made is not None
    assert context.draft.swept.texts == {}
    save_config(tiny(), tmp_path / "tiny.toml")
    varied = ["--vary", "optimizer.weight_decay=0:0.5:step=0.125", "--vary", "optimizer.lr=1e-4:1e-1:log"]
    words = ["sweep", "new", str(tmp_path / "tiny.toml"), *varied, "--seed", "7", "--trials", "5", "--disk", "2"]
    assert main([*words, "--workspace", str(tmp_path / "ws")]) == 0
    (told,) = list_sweeps(tmp_path / "ws")
    assert {**dialog.made.dump(), "created": 0} == {**told.dump(), "created": 0}
    assert dialog.made.base() == told.base()


def test_a_grid_says_how_many_combinations_it_has(qtbot: QtBot, context: AppContext) -> None:
    context.draft.set_config(tiny())
    window = open_window(qtbot, context, "studies/sweeps")
    entry_of(context, "optimizer.lr", PUT_IN)
    entry_of(context, "model.activation", PUT_IN)
    base = context.draft.config()
    assert base is not None
    dialog = NewSweepDialog(context, base, window)
    dialog.show()
    kinds = len(dialog.varied.rows["model.activation"].boxes)
    dialog.options.sampler.setCurrentIndex(dialog.options.sampler.findData("grid"))
    assert dialog.options.trials.text() == ""  # all of them
    assert dialog.expected.text().startswith(f"The grid has {5 * kinds} combinations. At most {5 * kinds} trials.")
    dialog.varied.rows["optimizer.lr"].points.setText("")
    qtbot.waitUntil(lambda: not dialog.create_only.isEnabled())
    assert dialog.varied.rows["optimizer.lr"].problem() == "Say how many values of the range the grid is to take."
    dialog.varied.rows["optimizer.lr"].points.setText("3")
    qtbot.waitUntil(lambda: dialog.expected.text().startswith(f"The grid has {3 * kinds} combinations."))
    dialog.reject()
    assert "model.activation" in context.draft.swept  # it can be opened again as it was left


def test_a_sweep_that_is_canceled_while_it_is_made_is_not_there(qtbot: QtBot, context: AppContext) -> None:
    dialog = open_dialog(qtbot, context)
    dialog.create_only.click()
    dialog.reject()
    is_made: list[bool] = []
    context.sweeps.waiting.submit(lambda: None, lambda _none: is_made.append(True), lambda _error: None)
    qtbot.waitUntil(lambda: bool(is_made))  # its answer came before this one
    qtbot.waitUntil(lambda: not list_sweeps(context.workspace))
    assert dialog.made is None
    assert "optimizer.lr" in context.draft.swept  # it can be opened again as it was left


def test_a_storage_that_cannot_be_used_is_said_and_nothing_is_made(qtbot: QtBot, context: AppContext) -> None:
    dialog = open_dialog(qtbot, context)
    dialog.options.storage.setText("sqlite:///a.db")
    dialog.create_only.click()
    qtbot.waitUntil(lambda: "only PostgreSQL is" in dialog.problem.text())
    assert dialog.made is None
    assert not list(context.workspace.glob("sweeps/*"))
    assert dialog.create_only.isEnabled()
    dialog.reject()
