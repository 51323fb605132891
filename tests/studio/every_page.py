"""Every page and tab of the window, one after the other, with something in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.pages.evaluate.page import EvaluatePage
from studio.pages.setup.page import SetupPage
from studio.state.context import AppContext
from studio.window.main_window import MainWindow
from studio.window.page_entries import PAGES
from studio.window.preferences import PreferencesDialog
from tests.evaluations import make_evaluation
from tests.studio.queue_driver import add
from tests.studio.window_driver import run_page, runs_page
from training.config import RunConfig
from training.runs.folder import RunFolder, create_run

MakeConfig = Callable[..., RunConfig]
_EVALUATED = "evaluated"


def train(qtbot: QtBot, context: AppContext, config: RunConfig) -> RunFolder:
    """A run, from its beginning to its end."""
    context.start_run(config)
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.start_problem())
    assert context.live.folder is not None
    return context.live.folder


def settle(qtbot: QtBot, window: QWidget) -> None:
    """What is read for a page comes in another thread; nothing is shown of most of it here."""
    window.repaint()
    qtbot.wait(50)


def walk_setup(qtbot: QtBot, window: MainWindow) -> Iterator[str]:
    """Each tab of the page Setup by its title, with all its settings in sight."""
    setup = window.page("setup")
    assert isinstance(setup, SetupPage)
    for number in range(setup.tabs.count()):
        setup.tabs.setCurrentIndex(number)
        for form in setup.panels[number].forms:
            form._advanced.open()
        settle(qtbot, window)
        yield setup.tabs.tabText(number)


def fill_workspace(qtbot: QtBot, context: AppContext, config: MakeConfig) -> None:
    """Two runs, one of them with an evaluation, and a queue."""
    make_evaluation(create_run(context.workspace, config(_EVALUATED)).path, samples=60, on="validation")
    train(qtbot, context, config("trained"))
    add(context.workspace, "waits")
    context.queue.refresh()


def list_places(window: MainWindow) -> list[str]:
    """All that ``show_page`` can show."""
    tabs = {"run": list(run_page(window).tabs._entries), "studies": ["studies", "sweeps", "queue"]}
    places = [f"{entry.key}/{tab}" for entry in PAGES for tab in tabs.get(entry.key, [])]
    return [*(entry.key for entry in PAGES if entry.key not in tabs), *places]


def walk_pages(qtbot: QtBot, context: AppContext, window: MainWindow) -> Iterator[tuple[str, QWidget]]:
    """Each of them in front, and the window; the panels of Setup with all their settings, the evaluation, compared runs, and at last the
    Preferences, each section with its dialog."""
    for place in list_places(window):
        window.show_page(place)
        settle(qtbot, window)
        yield place, window
    context.open_run(next(context.workspace.glob(f"runs/{_EVALUATED}-*")))
    page = window.page("run/evaluate")
    assert isinstance(page, EvaluatePage)
    qtbot.waitUntil(lambda: page.selection.evaluation is not None)
    for title in list(page.stage.tabs.buttons):
        page.stage.show_tab(title)
        settle(qtbot, window)
        yield f"evaluation: {title}", window
    window.show_page("setup")
    yield from ((title, window) for title in walk_setup(qtbot, window))
    window.show_page("runs")
    runs = runs_page(window)
    qtbot.waitUntil(lambda: runs.table.model().rowCount() == 2)
    runs.table.selectAll()
    qtbot.waitUntil(runs.compare.isVisible)
    settle(qtbot, window)
    yield "compared runs", window
    dialog = PreferencesDialog(context, window)
    dialog.open()
    for number in range(dialog.sections.count()):
        dialog.sections.setCurrentRow(number)
        settle(qtbot, dialog)
        yield dialog.sections.item(number).text(), dialog
    dialog.close()
    dialog.deleteLater()
