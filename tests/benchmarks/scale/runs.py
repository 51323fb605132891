"""A workspace of very many runs: the list, the index, the Runs page."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.scale.drawn import draw_runs, drawn_config
from tests.benchmarks.scale.probe import Measurement, Probe
from training.runs.folder import create_run
from training.runs.index import Index
from training.runs.query import parse
from training.runs.workspace import find_run, run_folders


def keep_index(count: int, place: Path) -> list[Measurement]:
    """What the engine and the command line do among ``count`` runs; leaves them in ``place``."""
    folders = draw_runs(place, count)
    probe = Probe("runs", count)
    probe.time("list the folders", lambda: run_folders(place), repeats=3)
    index = Index(place)
    probe.time("build the index anew", index.runs)
    probe.time("look again in the same process", index.runs, repeats=3)
    index.close()
    another = Index(place)
    probe.time("look in another process", another.runs)
    probe.time("note one run", lambda: another.record(folders[count // 2].status()), grows="constant", repeats=5)
    probe.time("read all settings and metrics into it", another.catch_up)
    query = parse('val/loss < 1 and lr < 1e-2 and "c" in schedule.kind')
    probe.time("filter by SQL", lambda: another.find(query), repeats=5)
    another.close()
    probe.note("size of the index", (place / "index.sqlite").stat().st_size / 2**20, "MB")
    probe.time("find a run by its id", lambda: find_run(folders[count // 2].id, place), repeats=3)
    probe.time("find a run by its name", lambda: find_run("drawn 1", place), repeats=3)
    probe.time("make a new run", lambda: create_run(place, drawn_config(1)), repeats=2)
    return probe.taken


def open_page(count: int, place: Path) -> list[Measurement]:
    """The Runs page over the runs that ``keep_index`` left in ``place``; in a process of its own."""
    from PySide6.QtCore import QEventLoop, Qt
    from PySide6.QtWidgets import QApplication

    from studio.engine.child import ChildLink
    from studio.engine.host import EngineHost
    from studio.engine.link import EngineChoice
    from studio.pages.runs.page import RunsPage
    from studio.services.app_settings import AppSettings
    from studio.services.garbage import GarbageCollector
    from studio.services.settings import SettingsStore
    from studio.state.context import AppContext
    from studio.state.runs.run_table import BEST, NAME

    application = QApplication([])
    GarbageCollector(application)  # as in the program
    host = EngineHost(EngineChoice(""), lambda choice: ChildLink(choice.python, place / "logs"))
    context = AppContext(place, SettingsStore(place / "settings.json", AppSettings()), host)
    probe = Probe("runs", count)

    def refresh() -> None:
        waiting = QEventLoop()
        context.library.refreshed.connect(waiting.quit)
        context.library.refresh()
        waiting.exec()
        context.library.refreshed.disconnect(waiting.quit)
        application.processEvents()

    page = RunsPage(context)
    page.resize(1200, 800)

    def show() -> None:
        page.show()
        refresh()

    def choose() -> None:
        page.choose(page.model.runs_shown()[count // 3].id)
        application.processEvents()

    def step(number: int) -> None:
        folder = context.library.runs[7].folder
        folder.write_status(folder.status().model_copy(update={"step": number}))
        refresh()

    probe.time("open the Runs page", show)
    probe.memory("memory of the Runs page")
    probe.time("sort by the best value", lambda: page.table.sortByColumn(BEST, Qt.SortOrder.AscendingOrder))
    probe.time("sort by name", lambda: page.table.sortByColumn(NAME, Qt.SortOrder.AscendingOrder))
    probe.time("search", lambda: page.search.setText("drawn 7"))
    probe.time("search no more", page.search.clear)
    page.search.setText("lr < 0")  # the column is fetched the first time
    waiting = QEventLoop()
    page.values.changed.connect(waiting.quit)
    waiting.exec()
    page.values.changed.disconnect(waiting.quit)
    probe.time("filter", lambda: page.search.setText('lr < 1e-2 and not star and "c" in status or star'))
    probe.time("filter no more", page.search.clear)
    probe.time("choose a run", choose, grows="constant")
    probe.time("look again, one run moved on", lambda: step(1000), repeats=3)
    context.background.close()
    host.shutdown()
    while host.threads_running:
        application.processEvents()
    return probe.taken
