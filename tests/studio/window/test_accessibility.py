"""Every page, tab and dialog by keyboard and as a screen reader reads it: each stop has a name of its own, and Tab reaches all and returns."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot

import studio
from studio.actions.export_dialog import ExportDialog
from studio.actions.question import Answer, Question
from studio.actions.trash_dialog import TrashDialog
from studio.charts.plots.curve_plot import CurvePlot
from studio.forms.consent_editor import ConsentDialog
from studio.pages.evaluate.page import EvaluatePage
from studio.pages.models.card_dialog import CardDialog
from studio.pages.run.about_row import AboutDialog as TagsAndNotes
from studio.pages.runs.name_dialog import NameDialog
from studio.pages.setup.page import SetupPage
from studio.pages.setup.presets import PresetDialog
from studio.pages.studies.finders.new_study import NewStudyDialog
from studio.pages.studies.sweeps.new_dialog import NewSweepDialog
from studio.panels.charts.enlarged_chart import EnlargedChart
from studio.panels.charts.values_dialog import ValuesDialog
from studio.panels.fix_dialog import FixDialog
from studio.state.context import AppContext
from studio.window.dialogs import AboutDialog, ReportDialog, ShortcutsDialog
from studio.window.help import HelpWindow
from studio.window.main_window import MainWindow
from studio.window.moving import MoveDialog
from studio.window.preferences import PreferencesDialog
from tests.evaluations import make_evaluation
from tests.studio.every_page import MakeConfig, list_places, settle, train, walk_setup
from tests.studio.keyboard_walk import list_stops, read, wait_for_soundness, walk
from tests.studio.window_driver import open_window, run_page, runs_page
from training.config import RunConfig
from training.runs.folder import create_run
from training.runs.records.about import About

MakeDialog = Callable[[AppContext, MainWindow], QDialog]


def test_every_page_and_tab_is_used_by_keyboard_and_screen_reader(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    window = open_window(qtbot, context)
    train(qtbot, context, config("first"))
    train(qtbot, context, config("second"))
    for place in list_places(window):
        window.show_page(place)
        settle(qtbot, window)
        wait_for_soundness(qtbot, window, place)
        assert read(list_stops(window)[0])[1] == window.rail._items[window.rail.current()].text()


def test_every_setting_is_reached_and_told_from_the_others(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "setup")
    for title in walk_setup(qtbot, window):
        wait_for_soundness(qtbot, window, title)


def test_tab_goes_through_a_form_from_top_to_bottom(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "setup")
    setup = window.page("setup")
    assert isinstance(setup, SetupPage)
    settle(qtbot, window)
    walked = walk(setup.header.presets)
    names = [read(stop)[1] for stop in walked]
    order = [
        "Presets",
        "Name",
        "Find a setting",
        "Samples",
        "Noise",
        "Dataset: Advanced",
        "Preview",
        "Start training",
        "Setup",
    ]
    assert sorted(order, key=names.index) == order
    places = [
        stop.mapTo(window, stop.rect().topLeft()).y() for stop in walked if setup.panels[0].forms[0].isAncestorOf(stop)
    ]
    rows = [y for y in places if y == max(places[: places.index(y) + 1])]
    assert len(rows) > len(places) / 3  # parts of a row are beside each other


def test_tab_comes_to_the_choice_that_is_taken(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "runs")
    context.settings.update(theme="dark")
    walked = [read(stop)[1] for stop in walk(window.menu_button)]
    assert "Dark" in walked
    assert "Follow the system" not in walked
    assert "Runs" in walked
    assert "Data" not in walked
    context.settings.update(theme="light")


def test_an_evaluation_and_compared_runs_are_used_by_keyboard_and_screen_reader(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    made = [create_run(workspace, config(name)) for name in ("first", "second")]
    make_evaluation(made[1].path, samples=60, on="validation")
    window = open_window(qtbot, context)
    context.open_run(made[1].path)
    page = window.page("run/evaluate")
    assert isinstance(page, EvaluatePage)
    qtbot.waitUntil(lambda: page.selection.evaluation is not None)
    settle(qtbot, window)
    wait_for_soundness(qtbot, window)
    window.show_page("runs")
    runs = runs_page(window)
    qtbot.waitUntil(lambda: runs.table.model().rowCount() == 2)
    runs.table.selectAll()
    qtbot.waitUntil(runs.compare.isVisible)
    settle(qtbot, window)
    wait_for_soundness(qtbot, window)


DIALOGS: dict[type[QDialog], MakeDialog] = {
    AboutDialog: lambda _context, window: AboutDialog("", window),
    ShortcutsDialog: lambda _context, window: ShortcutsDialog(window.controller.actions.table, window),
    ReportDialog: lambda _context, window: ReportDialog("Report", "What happened.", "Traceback", Path(), window),
    HelpWindow: lambda _context, window: HelpWindow(window),
    ExportDialog: lambda _context, window: ExportDialog("lab", 40, Path(), {}, parent=window),
    TrashDialog: TrashDialog,
    PresetDialog: lambda _context, window: PresetDialog(window),
    NameDialog: lambda _context, window: NameDialog(window, "Tags", "Choose some.", ["a", "b"], ["a"]),
    Question: lambda _context, window: Question(window, "Delete?", "It can be undone.", [Answer("yes", "Delete")]),
    NewStudyDialog: lambda context, window: NewStudyDialog(
        context, context.draft.config() or RunConfig(), "lr-range", window
    ),
    NewSweepDialog: lambda context, window: NewSweepDialog(context, context.draft.config() or RunConfig(), window),
    MoveDialog: MoveDialog,
    TagsAndNotes: lambda _context, window: TagsAndNotes(About(tags=("a",), notes="b"), window),
    CardDialog: lambda _context, window: CardDialog(Path(__file__), window),
    ConsentDialog: lambda _context, window: ConsentDialog(Path("net.py"), b"import torch", "0123", window),
    FixDialog: lambda context, window: _make_fix_dialog(context, window),
    EnlargedChart: lambda _context, window: EnlargedChart(_find_chart(window), "Loss"),
    ValuesDialog: lambda _context, window: ValuesDialog(_find_chart(window), "Loss"),
}
_ELSEWHERE = {
    "CommandPalette",
    "PreferencesDialog",
    "EnlargedData",
    "SampleDialog",
    "DetailsDialog",
    "ProveDialog",
    "SlurmDialog",
    "TimingDialog",
    "TrialDialog",
}
"""Walked through below, and where their own tests have something to show in them."""
_SHAPES = {"EnlargedSample", "ListedSample"}
"""Other dialogs are made of them."""


def _name_dialogs() -> set[str]:
    """All that the program has."""
    classes = [
        (node.name, {base.id for base in node.bases if isinstance(base, ast.Name)})
        for path in Path(studio.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    found = {"QDialog"}
    while more := {name for name, bases in classes if bases & found} - found:
        found |= more
    return found - {"QDialog"}


def test_no_dialog_is_forgotten() -> None:
    assert _name_dialogs() == {kind.__name__ for kind in DIALOGS} | _ELSEWHERE | _SHAPES


def _find_chart(window: MainWindow) -> CurvePlot:
    window.show_page("run")
    return next(iter(run_page(window).charts.curves.board.plots()))


def _make_fix_dialog(context: AppContext, window: MainWindow) -> FixDialog:
    config = context.draft.config() or RunConfig()
    return FixDialog(create_run(context.workspace, config), config, {"optimizer.lr": 1e-4}, live=False, parent=window)


@pytest.mark.parametrize("kind", DIALOGS)
def test_every_dialog_is_used_by_keyboard_and_screen_reader(
    qtbot: QtBot, context: AppContext, kind: type[QDialog]
) -> None:
    window = open_window(qtbot, context, "models")
    window.resize(1000, 600)
    dialog = DIALOGS[kind](context, window)
    qtbot.addWidget(dialog)
    dialog.open()
    assert dialog.size().boundedTo(window.size()) == dialog.size()
    settle(qtbot, dialog)
    assert list_stops(dialog)
    wait_for_soundness(qtbot, dialog)
    dialog.close()


def test_preferences_are_used_by_keyboard_and_screen_reader(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "models")
    dialog = PreferencesDialog(context, window)
    qtbot.addWidget(dialog)
    dialog.open()
    for number in range(dialog.sections.count()):
        dialog.sections.setCurrentRow(number)
        settle(qtbot, dialog)
        wait_for_soundness(qtbot, dialog, dialog.sections.item(number).text())
    dialog.close()


def test_the_palette_is_used_by_keyboard_and_screen_reader(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context, "models")
    qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    palette = window.controller.palette
    assert palette is not None
    qtbot.waitUntil(palette.isVisible)
    assert all(read(stop)[1] for stop in list_stops(palette))
    palette.hide()
