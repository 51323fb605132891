"""Many long runs beside each other: how soon their curves are drawn, with the pyramids that runs keep and without, and what a zoom costs.

    python -m tests.benchmarks.curves [--runs 10] [--steps 1000000] [--charts 10]

Runs with made-up numbers in a temporary workspace; each measurement is a process of its own, with the compare panel in a window of
1280x800. The pages of the files are in memory. CPU seconds of the whole process stand beside those on the clock, which other work on
the machine makes longer. Stated are the seconds until the first curve, until all of them, the longest time that
the window did not answer meanwhile, memory, and, of zooming and moving three curves, the median and the 99th percentile of a drawing.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from training.config import parse_config
from training.events import AttemptStarted, Completed
from training.runs.folder import RunFolder, create_run
from training.runs.pyramid.kept import STEP_CURVES, PyramidWriter
from training.runs.records.columns import Columns, ColumnsWriter
from training.runs.records.history import EventLog
from training.runs.records.series import STEP_ROW, SeriesWriter


def make_run(place: Path, number: int, steps: int, parts: int) -> RunFolder:
    """A run that ended, with ``parts`` parts of its loss."""
    folder = create_run(place, parse_config({"name": f"long {number}", "seed": number}))
    generator = np.random.default_rng(number)
    rows = np.zeros(steps, STEP_ROW)
    rows["step"] = np.arange(1, steps + 1)
    rows["loss"] = 2 * np.exp(-rows["step"] / steps) + generator.normal(size=steps) / 10
    rows["grad_norm"], rows["lr"] = generator.lognormal(size=steps), 1e-3
    series = SeriesWriter(folder.series_file, STEP_ROW)
    columns = Columns(tuple(f"part {at}" for at in range(parts)))
    others = np.zeros(steps, columns.row)
    others["step"], others["values"] = rows["step"], generator.normal(size=(steps, parts))
    writer = ColumnsWriter(folder.parts_file, columns)
    for each, count, content in ((series, len(STEP_CURVES), rows), (writer, parts, others)):
        pyramid = PyramidWriter(each, count)
        each.append(content)
        pyramid.close()
        each.close()
    log = EventLog(folder.events_file)
    log.emit(
        AttemptStarted(attempt=1, step=0, total_steps=steps, steps_per_epoch=1000, epochs=steps // 1000, device="cpu")
    )
    log.emit(Completed(step=steps))
    log.close()
    folder.write_status(folder.status().model_copy(update={"status": "completed", "step": steps}))
    return folder


def watch(place: Path, charts: int) -> dict[str, float]:
    """Open the panel on all runs in ``place``; in a process of its own."""
    from PySide6.QtCore import QPointF
    from PySide6.QtWidgets import QApplication

    from studio.engine.child import ChildLink
    from studio.engine.host import EngineHost
    from studio.engine.link import EngineChoice
    from studio.pages.runs.compare.panel import ComparePanel
    from studio.services.app_settings import AppSettings
    from studio.services.garbage import GarbageCollector
    from studio.services.settings import SettingsStore
    from studio.state.context import AppContext
    from studio.theme import apply

    application = QApplication([])
    apply(application, "light")
    GarbageCollector(application)  # as in the program
    host = EngineHost(EngineChoice(""), lambda choice: ChildLink(choice.python, place / "logs"))
    context = AppContext(place, SettingsStore(place / "settings.json", AppSettings()), host)
    panel = ComparePanel(context)
    panel.resize(1280, 800)
    panel.show()
    application.processEvents()
    folders = [RunFolder(path) for path in sorted((place / "runs").iterdir())]
    names = ["train/loss", "grad_norm", "lr", *(f"parts/part {at}" for at in range(charts - 3))]
    panel.curves._chosen = names
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def count_drawn() -> int:
        return sum(len(curve.series) > 0 for plot in panel.curves.plots.values() for curve in plot._curves.values())

    found = {"first": 0.0, "all": 0.0, "longest without an answer": 0.0}
    start = last = time.perf_counter()
    spent = time.process_time()
    panel.show_runs(folders)
    while not found["all"]:
        application.processEvents()
        now = time.perf_counter()
        found["longest without an answer"] = max(found["longest without an answer"], now - last)
        last, drawn = now, count_drawn()
        if drawn and not found["first"]:
            found |= {"first": now - start, "first (CPU)": time.process_time() - spent}
        if drawn == len(folders) * charts and not panel._later.isActive():
            for plot in panel.curves.plots.values():
                plot.refresh()
            panel.grab()
            found |= {"all": time.perf_counter() - start, "all (CPU)": time.process_time() - spent}
        time.sleep(0.001)
    found["memory MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["memory before MB"] = before / 1024
    panel.curves.bar.smoothing.setValue(12)
    smoothed, spent = time.perf_counter(), time.process_time()
    noisy = [plot for name, plot in panel.curves.plots.items() if name != "lr"]
    while not all(curve.series.is_smoothed for plot in noisy for curve in plot._curves.values()):
        application.processEvents()
        time.sleep(0.001)
    found |= {"all smoothed": time.perf_counter() - smoothed, "all smoothed (CPU)": time.process_time() - spent}
    found["memory MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found |= _zoom(panel, application, QPointF)
    return found


def _zoom(panel: Any, application: Any, point: Any) -> dict[str, float]:
    """Zoom and move one chart of three curves."""
    from studio.charts.plots.curve_plot import CurvePlot
    from training.runs.pyramid.smoothing import ExponentialSmoother

    plot = CurvePlot("Zoomed")
    runs = panel.comparison.list_read()[:3]
    for at, run in enumerate(runs):
        curve = run.curve("train/loss")
        smoother = ExponentialSmoother(0.99)
        smoother.grow(curve)
        plot.add_curve(f"{at}")
        plot.show_curve(f"{at}", curve, smoother)
    plot.resize(900, 500)
    plot.show()
    plot.refresh()
    generator, steps, times = np.random.default_rng(0), float(len(curve)), []
    for _ in range(300):
        width = steps * 10 ** -generator.uniform(0, 4)
        first = generator.uniform(0, steps - width)
        start, spent = time.perf_counter(), time.process_time()
        plot._on_moved_by_hand(first, first + width)
        plot.refresh()
        plot._canvas.repaint()
        times.append((1000 * (time.perf_counter() - start), 1000 * (time.process_time() - spent)))
        application.processEvents()
    (median, median_cpu), (last, last_cpu) = np.median(times, axis=0), np.percentile(times, 99, axis=0)
    return {"zoom median ms": median, "(CPU)": median_cpu, "zoom p99 ms": last, "p99 (CPU)": last_cpu}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--charts", type=int, default=10)
    parser.add_argument("--watch", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.watch:
        print(json.dumps(watch(arguments.watch, arguments.charts)), flush=True)
        os._exit(0)  # nothing of it is to be kept
        return
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for number in range(arguments.runs):
            make_run(place, number, arguments.steps, arguments.charts - 3)
        for title in ("with pyramids", "without pyramids", "with pyramids again"):
            if title == "without pyramids":
                for path in place.glob("runs/*/*.pyramid"):
                    path.unlink()
            command = [
                sys.executable,
                "-m",
                "tests.benchmarks.curves",
                "--watch",
                name,
                "--charts",
                str(arguments.charts),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            figures = json.loads(done.stdout.splitlines()[-1])
            print(title, ", ".join(f"{what} {value:.3g}" for what, value in figures.items()), sep=": ", flush=True)


if __name__ == "__main__":
    main()
