"""How long the command palette takes to open, and to find, with many runs: CPU milliseconds of the window's thread.

    python -m tests.benchmarks.palette [--runs 10000] [--rounds 9]

The runs are made up, in memory. Needs no display.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QApplication

from studio.engine.child import ChildLink
from studio.engine.host import EngineHost
from studio.engine.link import EngineChoice
from studio.services.app_settings import AppSettings
from studio.services.garbage import GarbageCollector
from studio.services.settings import SettingsStore
from studio.state.context import AppContext
from studio.state.runs.run_library import RunSummary
from studio.theme import apply
from studio.window.main_window import MainWindow
from training.runs.records.forms import StatusRecord

_QUERIES = ("resnet", "resnet number", "cifar 99", "rnct", "weight decay", "zebra")


def measure(act: Callable[[], object]) -> float:
    """Milliseconds of this thread, until what ``act`` shows is painted."""
    busy = time.thread_time()
    act()
    QApplication.processEvents()
    return (time.thread_time() - busy) * 1000


def make_run(place: Path, number: int) -> RunSummary:
    """A record that no folder stands behind."""
    run = f"20261126-{number:06d}-abcd"
    name = f"resnet18 on cifar number {number}"
    return RunSummary(
        StatusRecord(run=run, name=name, folder=str(place / "runs" / run), dataset="cifar", model="resnet")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    app = QApplication(sys.argv[:1])
    apply(app, "light")
    GarbageCollector(app)  # as in the program
    with tempfile.TemporaryDirectory() as kept:
        place = Path(kept)
        host = EngineHost(EngineChoice(""), lambda choice: ChildLink(choice.python, place / "logs"))
        context = AppContext(place, SettingsStore(place / "settings.json", AppSettings()), host)
        window = MainWindow(context.settings)
        window.show()
        window.furnish(context)
        runs = [make_run(place, number) for number in range(arguments.runs)]
        context.library.runs = tuple(runs)
        QApplication.processEvents()  # the page in front is built and painted
        show = window.controller.show_palette
        print(f"{arguments.runs:,} runs, {len(os.sched_getaffinity(0))} cores; CPU milliseconds, median (and worst)")
        print(f"opened for the first time   {measure(show):7.1f}")
        palette = window.controller.palette
        assert palette is not None

        def tell(what: str, times: list[float]) -> None:
            print(f"{what:<27} {statistics.median(times):7.1f} ({max(times):.1f})")

        again = []
        for _ in range(arguments.rounds):
            palette.hide()
            again.append(measure(show))
        tell("opened again", again)
        changed = []
        for number in range(arguments.rounds):
            palette.hide()
            runs[number] = make_run(place, number)
            context.library.runs = tuple(runs)
            changed.append(measure(show))
        tell("one run is another", changed)
        for query in _QUERIES:
            times = []
            for _ in range(arguments.rounds):
                palette.line.clear()
                times.append(measure(lambda query=query: palette.line.setText(query)))  # type: ignore[misc]
            tell(f"found: {query}", times)
        palette.hide()
        context.background.close()
        host.shutdown()
        while host.threads_running:
            QApplication.processEvents()


if __name__ == "__main__":
    main()
