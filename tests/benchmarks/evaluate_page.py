"""How long the Evaluate page takes to open and to follow a selection, and the memory that it takes.

    python -m tests.benchmarks.evaluate_page [--task class] [--samples 50000] [--classes 100] [--rounds 15]

The evaluation is made up, of random scores; its images are never asked for. A selection is measured from the choice in a
view until everything is painted. Needs no display.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import psutil
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from studio.charts.confusion_picker import Box
from studio.charts.point_picker import Span
from studio.engine.child import ChildLink
from studio.engine.host import EngineHost
from studio.engine.link import EngineChoice
from studio.pages.evaluate.page import EvaluatePage
from studio.pages.evaluate.views.calibration_view import CalibrationView
from studio.pages.evaluate.views.classes_view import ClassesView
from studio.pages.evaluate.views.confusion_view import ConfusionView
from studio.pages.evaluate.views.loss_view import LossView
from studio.pages.evaluate.views.points_view import PointsView
from studio.pages.evaluate.views.slices_view import SlicesView
from studio.pages.evaluate.views.threshold_view import ThresholdView
from studio.services.app_settings import AppSettings
from studio.services.settings import SettingsStore
from studio.state.context import AppContext
from studio.state.evaluations.one_class import OUTCOMES
from studio.theme import apply
from tests.evaluations import make_evaluation, write_evaluation
from training.config import parse_config
from training.predictions import Evaluation
from training.runs.folder import create_run

FAKE_ENGINE = Path(__file__).parents[1] / "studio" / "fake_engine.py"


def wait(milliseconds: int) -> None:
    """Let the window work for a while."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def measure(page: EvaluatePage, act: Callable[[], object]) -> float:
    """Milliseconds until what ``act`` chose is painted."""
    began = time.perf_counter()
    act()
    QApplication.processEvents()  # what changed, and what of it is in sight, is painted
    return (time.perf_counter() - began) * 1000


def list_choices(page: EvaluatePage, classes: int) -> dict[str, list[Callable[[], object]]]:
    """What is chosen in each view; an odd number of choices each, so that none undoes itself."""
    matrix, table, losses = page.views["confusion"], page.views["classes"], page.views["loss"]
    threshold, calibration, slices = page.views["threshold"], page.views["calibration"], page.views["slices"]
    assert isinstance(matrix, ConfusionView)
    assert isinstance(table, ClassesView)
    assert isinstance(losses, LossView)
    assert isinstance(threshold, ThresholdView)
    assert isinstance(calibration, CalibrationView)
    assert isinstance(slices, SlicesView)
    numbers = range(0, classes, max(classes // 10, 1))
    return {
        "cell": [partial(matrix.matrix.chosen.emit, Box(n, n, n, n)) for n in numbers],
        "half of the matrix": [partial(matrix.matrix.chosen.emit, Box(0, 0, n // 2, classes - 1)) for n in numbers],
        "class": [partial(table.choose_row, n) for n in numbers],
        "range of losses": [partial(losses.chart.chosen.emit, (n, 39)) for n in range(0, 30, 3)],
        "threshold": [partial(threshold.set_threshold, n / 20) for n in range(1, 20)],
        "outcome": [partial(threshold.choose_outcome, outcome) for outcome in OUTCOMES],
        "bin of confidence": [partial(calibration.chart.chosen.emit, n) for n in range(1, 12)],
        "order": [
            partial(page.samples.table.set_order, key) for key in ("best", "random", "confused", "unsure", "worst")
        ],
        "all again": [page.selection.clear],
        "slice": [partial(slices.choose_row, n) for n in range(11)],
    }


def list_points(page: EvaluatePage) -> dict[str, list[Callable[[], object]]]:
    """What is chosen in each view of predicted values."""
    choices: dict[str, list[Callable[[], object]]] = {"all again": [page.selection.clear]}
    for key in ("predictions", "residuals"):
        view = page.views[key]
        assert isinstance(view, PointsView)
        chart = view.chart
        spans = [Span(-2.0, end / 4, -2.0, 2.0) for end in range(-3, 4)]
        choices[key] = [partial(chart.chosen.emit, span) for span in spans]
    return choices


def make_values(run: Path, samples: int) -> Evaluation:
    """The evaluation of a made-up regression."""
    rng = np.random.default_rng(0)
    target = rng.normal(size=(samples, 1)).astype(np.float32)
    prediction = target + rng.normal(0.0, 0.3, target.shape).astype(np.float32)
    columns = {
        "index": np.arange(samples),
        "loss": np.square(prediction - target)[:, 0],
        "target": target,
        "prediction": prediction,
    }
    return write_evaluation(run, columns, ("value",), target="values", task="regression")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=("class", "values"), default="class")
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    app = QApplication([])
    apply(app, "light")
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        run = create_run(home / "workspace", parse_config({"name": "measured"}))
        if arguments.task == "values":
            made = make_values(run.path, arguments.samples)
        else:
            made = make_evaluation(run.path, samples=arguments.samples, classes=arguments.classes)
        settings = SettingsStore(home / "settings.json", AppSettings(keep_awake=False))
        words = [sys.executable, str(FAKE_ENGINE)]
        engine = EngineHost(EngineChoice(), lambda choice: ChildLink(choice.python, home / "logs", words))
        context = AppContext(home / "workspace", settings, engine)
        wait(2000)
        process = psutil.Process()
        before = process.memory_info().rss
        page = EvaluatePage(context)
        page.resize(1084, 760)
        page.show()
        context.evaluation.choose_run(run)
        began = time.perf_counter()
        while page.selection.evaluation is None:
            app.processEvents()
        app.processEvents()
        page.grab()
        opened = time.perf_counter() - began
        what = f"{arguments.classes} classes" if arguments.task == "class" else "a value to predict"
        print(f"{arguments.samples:,} samples, {what}: {made.record.bytes / 2**20:.0f} MiB of files")
        print(f"opened in {opened:.2f} s")
        listed = list_choices(page, arguments.classes) if arguments.task == "class" else list_points(page)
        for title, choices in listed.items():
            times = [measure(page, act) for _round in range(arguments.rounds) for act in choices]
            print(f"  {title:<20} median {statistics.median(times):6.1f} ms, slowest {max(times):6.1f} ms")
        print(f"memory of the page: {(process.memory_info().rss - before) / 2**20:.0f} MiB")
        engine.shutdown()
        while engine.threads_running:
            wait(20)
        context.background.close()
        page.deleteLater()


if __name__ == "__main__":
    main()
