"""How long the Evaluate page takes to open and to follow a selection, and the memory that it takes.

    python -m tests.benchmarks.evaluate_page [--task class|labels|values|masks|ranks|tokens|embedding] [--samples 50000] [--classes 100] [--rounds 15]

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
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray
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
from studio.pages.evaluate.views.figures_view import FiguresView
from studio.pages.evaluate.views.loss_view import LossView
from studio.pages.evaluate.views.neighbors_view import NeighborsView
from studio.pages.evaluate.views.points_view import PointsView
from studio.pages.evaluate.views.slices_view import SlicesView
from studio.pages.evaluate.views.threshold_view import ThresholdView
from studio.pages.evaluate.views.tokens_view import TokensView
from studio.services.app_settings import AppSettings
from studio.services.settings import SettingsStore
from studio.state.context import AppContext
from studio.state.evaluations.one_class import OUTCOMES
from studio.theme import apply
from tests.evaluations import make_evaluation, make_labels, write_evaluation
from training.config import parse_config
from training.predictions import Evaluation
from training.runs.folder import create_run

FAKE_ENGINE = Path(__file__).parents[1] / "studio" / "fake_engine.py"


def wait(milliseconds: int) -> None:
    """Let the window work for a while."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def measure(act: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds until what ``act`` chose is painted, by the clock and of the window's thread."""
    began, busy = time.perf_counter(), time.thread_time()
    act()
    QApplication.processEvents()  # what changed, and what of it is in sight, is painted
    return (time.perf_counter() - began) * 1000, (time.thread_time() - busy) * 1000


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


def list_others(page: EvaluatePage) -> dict[str, list[Callable[[], object]]]:
    """What is chosen in the views that other evaluations than those of classes have."""
    choices: dict[str, list[Callable[[], object]]] = {}
    selection, views = page.selection, page.views
    rng = np.random.default_rng(1)
    for key, view in views.items():
        if isinstance(view, PointsView):
            spans = [Span(-2.0, end / 4, -2.0, 2.0) for end in range(-3, 4)]
            choices[key] = [partial(view.chart.chosen.emit, span) for span in spans]
        elif isinstance(view, LossView):
            choices["range of losses"] = [partial(view.chart.chosen.emit, (n, 39)) for n in range(0, 30, 3)]
        elif isinstance(view, FiguresView):
            choices[view.heading] = [partial(view.chart.chosen.emit, (n, 19)) for n in range(11)]
            if view.picked.number is not None or len(view.figures) > 3:
                choices["where it is worst"] = [partial(choose_worst, view, n) for n in range(1, len(view.figures))]
        elif isinstance(view, TokensView):
            choices["token"] = [partial(view.choose_token, n) for n in range(11)]
        elif isinstance(view, ThresholdView):
            choices["threshold"] = [partial(view.set_threshold, n / 20) for n in range(1, 20)]
            choices["outcome"] = [partial(view.choose_outcome, outcome) for outcome in OUTCOMES]
        elif isinstance(view, CalibrationView):
            choices["bin of confidence"] = [partial(view.chart.chosen.emit, n) for n in range(1, 12)]
        elif isinstance(view, ClassesView):
            choices["class"] = [partial(view.choose_row, n) for n in range(11)]
        elif isinstance(view, SlicesView) and view.model.slices:
            choices["slice"] = [partial(view.choose_row, n % len(view.model.slices)) for n in range(11)]
    choices["another sample"] = [partial(selection.look_at, int(n)) for n in rng.integers(0, selection.total, 11)]
    if "neighbors" in views:
        choices["neighbors"] = [partial(choose_around, page, int(n)) for n in rng.integers(0, selection.total, 11)]
    choices["order"] = [partial(page.samples.table.set_order, key) for key in ("best", "random", "worst")]
    choices["all again"] = [selection.clear]
    return choices


def choose_worst(view: FiguresView, number: int) -> None:
    """The images in which a class is the worst; without the histogram of another class, which is measured in the background."""
    view.figure.setCurrentIndex(number)
    view.choose_worst()


def choose_around(page: EvaluatePage, row: int) -> None:
    view = page.views["neighbors"]
    assert isinstance(view, NeighborsView)
    page.selection.look_at(row)
    view.choose_neighbors()


def make_values(run: Path, samples: int, classes: int) -> Evaluation:
    """A regression of one value."""
    rng = np.random.default_rng(0)
    target = rng.normal(size=(samples, 1)).astype(np.float32)
    prediction = target + rng.normal(0.0, 0.3, target.shape).astype(np.float32)
    columns = with_loss(np.square(prediction - target)[:, 0], target=target, prediction=prediction)
    return write_evaluation(run, columns, ("value",), target="values", task="regression")


def make_masks(run: Path, samples: int, classes: int) -> Evaluation:
    """Of 32 x 32 pixels, in bands of a class each, some of them shifted."""
    rng = np.random.default_rng(0)
    size, names = 32, tuple(f"class {number}" for number in range(classes))
    target = np.broadcast_to(rng.integers(0, classes, (samples, size, 1), np.uint8), (samples, size, size))
    prediction = np.where(rng.random((samples, size, 1)) < 0.3, np.roll(target, 1, axis=1), target)
    columns = {name: np.empty((samples, classes), np.int32) for name in ("support", "predicted", "correct")}
    for number in range(classes):
        truth, answer = target[:, :, 0] == number, prediction[:, :, 0] == number
        for name, found in (("support", truth), ("predicted", answer), ("correct", truth & answer)):
            columns[name][:, number] = found.sum(1) * size
    loss = rng.gamma(2.0, 0.3, samples)
    columns = with_loss(loss, target=np.ascontiguousarray(target), prediction=prediction, **columns)
    return write_evaluation(run, columns, names, target="mask", task="segmentation")


def make_labels_of(run: Path, samples: int, classes: int) -> Evaluation:
    names = tuple(f"label {number}" for number in range(classes))
    return write_evaluation(run, make_labels(samples, classes), names, target="labels", task="multi_label")


def make_ranks(run: Path, samples: int, classes: int) -> Evaluation:
    """Queries of up to ten items."""
    rng = np.random.default_rng(0)
    target = rng.integers(0, 4, (samples, 10)).astype(np.float32)
    target[rng.random(target.shape) < 0.2] = np.nan
    scores = target + rng.normal(size=target.shape).astype(np.float32)
    columns = with_loss(rng.gamma(2.0, 0.3, samples), target=target, scores=scores)
    return write_evaluation(run, columns, ("rank",), target="ranks", task="ranking", layout="list")


def make_tokens(run: Path, samples: int, classes: int) -> Evaluation:
    """Passages of 64 tokens."""
    rng = np.random.default_rng(0)
    target = rng.integers(0, classes, (samples, 64), np.int32)
    prediction = np.where(rng.random(target.shape) < 0.5, target, rng.integers(0, classes, target.shape, np.int32))
    losses = rng.gamma(2.0, 0.5, target.shape).astype(np.float16)
    columns = with_loss(losses.mean(1), target=target, prediction=prediction, token_loss=losses)
    names = tuple(chr(200 + number) for number in range(classes))
    return write_evaluation(run, columns, names, target="tokens", task="language_model", layout="tokens")


def make_embeddings(run: Path, samples: int, classes: int) -> Evaluation:
    """Of 128 numbers."""
    rng = np.random.default_rng(0)
    target = rng.integers(0, classes, samples, np.int32)
    centers = rng.normal(size=(classes, 128)).astype(np.float32)
    embedding = centers[target] + rng.normal(size=(samples, 128)).astype(np.float32)
    columns = with_loss(np.full(samples, np.nan), embedding=embedding, target=target)
    names = tuple(f"class {number}" for number in range(classes))
    return write_evaluation(run, columns, names, task="embedding")


def with_loss(loss: NDArray[np.floating], **columns: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {"index": np.arange(len(loss)), "loss": loss.astype(np.float32), **columns}


MAKE: dict[str, Callable[[Path, int, int], Evaluation]] = {
    "class": lambda run, samples, classes: make_evaluation(run, samples=samples, classes=classes),
    "labels": make_labels_of,
    "values": make_values,
    "masks": make_masks,
    "ranks": make_ranks,
    "tokens": make_tokens,
    "embedding": make_embeddings,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=tuple(MAKE), default="class")
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
        made = MAKE[arguments.task](run.path, arguments.samples, arguments.classes)
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
        context.open_run(run.path, "evaluate")
        began = time.perf_counter()
        while page.selection.evaluation is None:
            app.processEvents()
        app.processEvents()
        page.grab()
        opened = time.perf_counter() - began
        what = f"{arguments.task}, {len(made.record.names)} names"
        print(f"{arguments.samples:,} samples, {what}: {made.record.bytes / 2**20:.0f} MiB of files")
        print(f"opened in {opened:.2f} s")
        wait(1000)  # what is measured in the background is there
        listed = list_choices(page, arguments.classes) if arguments.task == "class" else list_others(page)
        for title, choices in listed.items():
            times, busy = zip(*(measure(act) for _round in range(arguments.rounds) for act in choices), strict=True)
            print(
                f"  {title:<20} median {statistics.median(times):6.1f} ms, slowest {max(times):6.1f} ms; "
                f"of the thread {statistics.median(busy):6.1f} ms"
            )
        print(f"memory of the page: {(process.memory_info().rss - before) / 2**20:.0f} MiB")
        engine.shutdown()
        while engine.threads_running:
            wait(20)
        context.background.close()
        page.deleteLater()


if __name__ == "__main__":
    main()
