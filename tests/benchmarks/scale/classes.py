"""A dataset of very many classes: opened, split, trained on for a few steps, shown."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
from PIL import Image

from tests.benchmarks.scale.probe import Measurement, Probe
from training.config import RunConfig, parse_config

PICTURES = 5  # of each class
SIDE = 8


def draw_folder(place: Path, classes: int) -> None:
    """A folder of images for each class."""
    noise = np.random.default_rng(0).integers(0, 256, (PICTURES, SIDE, SIDE, 3), dtype=np.uint8)
    images = [Image.fromarray(pixels) for pixels in noise]
    for number in range(classes):
        folder = place / f"class {number:05d}"
        folder.mkdir(parents=True)
        for at, image in enumerate(images):
            image.save(folder / f"{at}.png", compress_level=1)


def config(place: Path) -> RunConfig:
    """A small MLP on them, for sixteen steps, two validations and two checkpoints."""
    return parse_config(
        {
            "name": "classes",
            "dataset": {"kind": "image_folder", "path": str(place), "image_size": SIDE},
            "model": {"kind": "mlp", "hidden": [32]},
            "loop": {"epochs": 2, "max_steps": 16, "batch_size": 64, "validate_every_steps": 8},
            "checkpoints": {"every_steps": 8},
        }
    )


def train(count: int, place: Path) -> list[Measurement]:
    """The engine with ``count`` classes; leaves data and run in ``place``."""
    from training.data.inspect import inspect_dataset
    from training.data.preparation import prepare
    from training.engine.device import choose_device
    from training.engine.runs.run import start_run
    from training.runs.folder import RunFolder
    from training.runs.records.history import read_history
    from training.runs.records.manifest import list_checkpoints

    data = place / "data"
    draw_folder(data, count)
    settings = config(data)
    probe = Probe("classes", count)
    probe.time("look at the dataset", lambda: inspect_dataset(settings), repeats=2)
    probe.time("open, split and load it", lambda: prepare(settings, choose_device("cpu")).close())
    probe.memory("memory of the engine")
    records = []
    probe.time("train 16 steps, 2 validations", lambda: records.append(start_run(settings, place)))
    folder = RunFolder(Path(records[0].folder))
    probe.time("read the events", lambda: read_history(folder.events_file), repeats=3)
    probe.time("list the checkpoints", lambda: list_checkpoints(folder), repeats=3)
    for name, path in (
        ("events.jsonl", folder.events_file),
        ("data.json", folder.data_file),
        ("manifest of a checkpoint", next(folder.checkpoints.glob("*/manifest.json"))),
    ):
        probe.note(name, path.stat().st_size / 1024, "kB")
    probe.note("status.json", folder.status_file.stat().st_size / 1024, "kB", "constant")
    return probe.taken


def show(count: int, place: Path) -> list[Measurement]:
    """The Data page's classes and the Run page's curves; in a process of its own, after ``train``."""
    from PySide6.QtCore import QObject, Signal
    from PySide6.QtWidgets import QApplication

    from studio.engine.monitor import RunMonitor
    from studio.pages.data.classes_tab import ClassesTab
    from studio.state.drafts.draft import Draft
    from training.data.inspect import inspect_dataset
    from training.runs.workspace import run_folders

    found = inspect_dataset(config(place / "data"))

    class Answered(QObject):
        """What the page would have asked its engine."""

        changed = Signal()
        notes, unread = (), False
        answer, classes = found, found.class_choices

    application = QApplication([])
    probe = Probe("classes", count)
    question = Answered()
    previews = []

    def preview() -> None:
        context = SimpleNamespace(draft=Draft(question))
        previews.append(ClassesTab(context, question))  # type: ignore[arg-type]
        previews[0].resize(420, 900)
        previews[0].show()
        application.processEvents()

    def scroll() -> None:
        previews[0].bars.scrollToBottom()
        application.processEvents()

    probe.time("the Data page's classes", preview)
    probe.time("scroll its classes to the end", scroll, grows="constant")
    probe.memory("memory of the classes")
    monitor = RunMonitor(run_folders(place)[0].path)
    probe.time("attach the window to the run", monitor.look)
    return probe.taken
