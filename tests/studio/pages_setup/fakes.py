"""A context whose engine answers when the test says so."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QLabel, QWidget

from studio.engine.client import Ticket
from studio.engine.host import EngineHost, HandleFailure, Inquiry, ShowProgress
from studio.services.notifier import Notifier
from studio.services.settings import SettingsStore
from studio.state.context import AppContext, BranchSource
from studio.state.drafts.draft import Draft
from studio.state.where_it_runs import WhereItRuns
from training.config import RunConfig
from training.errors import InputError, Problem
from training.protocol.answers import Answer
from training.protocol.message import Message
from training.protocol.messages import (
    BrowseSamples,
    CheckRequest,
    FitOneBatch,
    InspectDataset,
    MeasureRunTime,
    Quit,
    Ready,
    Refusal,
    SummarizeModel,
)
from training.queue.overview import Overview
from training.queue.store import Queue
from training.runs.records.forms import Manifest, TrainedData
from training.runs.records.manifest import CheckpointInfo


@dataclass
class Asked:
    """One question that reached the engine."""

    request: Message
    config: dict[str, Any]
    answer_type: type[Answer]
    handle_result: Callable[[Any], object]
    failed: HandleFailure
    progress: ShowProgress = lambda text, fraction: None
    inquiry: Ticket = field(default_factory=lambda: Ticket(Quit(), print))

    def done(self, result: Mapping[str, Any]) -> None:
        """Answer as an engine does, in JSON."""
        self.handle_result(self.answer_type.model_validate_json(json.dumps(result)))


class FakeEngine(QObject):
    """Keeps what was asked, by kind of question."""

    state_changed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.info: Ready | None = None
        self.inspections: list[Asked] = []
        self.summaries: list[Asked] = []
        self.checks: list[Asked] = []
        self.timings: list[Asked] = []
        self.fits: list[Asked] = []
        self.pages: list[Asked] = []
        self.training = False

    def ask(self, request: Inquiry, *rest: Any) -> Ticket:
        lists = {
            InspectDataset: self.inspections,
            SummarizeModel: self.summaries,
            CheckRequest: self.checks,
            MeasureRunTime: self.timings,
            BrowseSamples: self.pages,
            FitOneBatch: self.fits,
        }
        lists[type(request)].append(Asked(request, request.config, *rest))
        return lists[type(request)][-1].inquiry

    def interrupt(self, ticket: Ticket) -> None:
        ticket.cancel()


class AtOnce:
    """A Background without a thread."""

    def submit(
        self, work: Callable[[], Any], done: Callable[[Any], object], failed: Callable[[Exception], object]
    ) -> None:
        try:
            result = work()
        except OSError as error:
            failed(error)
        else:
            done(result)


class FakeQueue(QObject):
    """Changes the queue in ``workspace`` at once; what is told of it, the test says."""

    changed = Signal()

    def __init__(self, workspace: Path, parent: QObject) -> None:
        super().__init__(parent)
        self.queue = Queue(workspace)
        self.overview = Overview(False, {}, ())

    def submit(
        self, work: Callable[[Queue], Any], done: Callable[[Any], object], failed: Callable[[Exception], object]
    ) -> None:
        try:
            result = work(self.queue)
        except InputError as error:
            failed(error)
        else:
            done(result)


class FakeContext(QObject):
    """What the Setup page uses of AppContext."""

    start_problem_changed = Signal(str)
    branch_changed = Signal(object)
    file_opened = Signal(str)
    find_requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.workspace = Path("runs of mine")
        self.draft = Draft(self)
        self.engine = FakeEngine()
        self.background = AtOnce()
        self.notifier = Notifier(self)
        self.settings = SettingsStore(parent=self)
        self.where = WhereItRuns(self.settings, self.draft, cast("EngineHost", self.engine), self)
        self.queue = FakeQueue(Path("nowhere"), self)
        self.data_look: QObject | None = None
        self.branch: BranchSource | None = None
        self.started: list[RunConfig] = []
        self.shown: list[str] = []
        self.problem = ""
        self.studies = SimpleNamespace(is_busy=False)
        self.held = ""

    def hold_draft(self, why: str) -> None:
        self.held = why

    def start_run(self, config: RunConfig) -> None:
        self.started.append(config)

    def start_problem(self) -> str:
        return self.problem

    def is_training(self) -> bool:
        return self.problem.startswith("Another run")

    def set_problem(self, problem: str) -> None:
        self.problem = problem
        self.start_problem_changed.emit(problem)

    def cancel_branch(self) -> None:
        self.set_branch(None)

    def set_branch(self, branch: BranchSource | None) -> None:
        self.branch = branch
        self.branch_changed.emit(branch)

    def show_page(self, key: str) -> None:
        self.shown.append(key)

    def open_config(self, text: str) -> bool:
        return AppContext.open_config(self, text)  # type: ignore[arg-type]


def report(train: int = 4800, **changes: Any) -> dict[str, Any]:
    """An inspection's answer, as ``training.data.inspect`` gives it (a test there compares the real one)."""
    return {
        "kind": "shapes",
        "layout": "image",
        "classes": ["Kreis", "Straßenbahnhaltestelle"],
        "class_count": 2,
        "counts": {"train": [train - 1, 1], "validation": [1200, 0]},
        "samples": {"train": train, "validation": 1200},
        "shape": [3, 2, 2],
        "skipped": [],
        "skipped_total": 0,
        "notes": [],
        "fingerprint": "f",
        "bytes": 12 * train,
        "first_page": {"total": train, "samples": [one_sample()]},
    } | changes


def one_sample(**changes: Any) -> dict[str, Any]:
    """An image, red as it is trained on and blue as it is."""
    return {
        "label": "Kreis",
        "index": 7,
        "width": 2,
        "height": 2,
        "channels": 3,
        "pixels_base64": "/wAA/wAA/wAA/wAA",
        "original_base64": "AAD/AAD/AAD/AAD/",
    } | changes


def model_summary() -> dict[str, Any]:
    """A model's answer, as ``training.models.summarize`` and ``serve`` give it."""
    layers = [
        {"name": "conv", "type": "Conv2d", "output_shape": [32, 32, 32], "parameters": 896, "trainable": True},
        {"name": "relu", "type": "ReLU", "output_shape": [32, 32, 32], "parameters": 0, "trainable": True},
    ]
    return {
        "layers": layers,
        "parameters": 1_000_000,
        "trainable_parameters": 1_000_000,
        "parameter_bytes": 4_000_000,
        "buffer_bytes": 0,
        "input_shape": [3, 32, 32],
        "outputs": 6,
        "groups": [
            {"name": "decay", "tensors": 3, "parameters": 999_000, "decays": True, "lr_scale": 1.0},
            {"name": "no decay, head", "tensors": 1, "parameters": 1_000, "decays": False, "lr_scale": 10.0},
            {"name": "frozen, no decay", "tensors": 2, "parameters": 50, "decays": False, "lr_scale": 0.0},
        ],
    }


def refusal(message: str, path: str = "") -> Refusal:
    """The engine's no."""
    problems = (Problem(path, message),) if path else ()
    return Refusal(message=f"{path}: {message}" if path else message, problems=problems)


def answer(context: FakeContext, train: int = 4800) -> None:
    """Answer both previews."""
    context.engine.inspections[-1].done(report(train))
    context.engine.summaries[-1].done(model_summary())


def branch_from_draft(context: FakeContext, **manifest: Any) -> None:
    """Let the page be about to branch from step 1,400 of a run with the draft's settings."""
    config = context.draft.config()
    assert config is not None
    checkpoint = CheckpointInfo.__new__(CheckpointInfo)
    object.__setattr__(checkpoint, "step", 1400)
    told = Manifest(step=1400, epoch=3, config={}, data=TrainedData(fingerprint=""), **manifest)
    context.set_branch(BranchSource(cast("object", None), checkpoint, config, told))  # type: ignore[arg-type]


def words(widget: QWidget) -> str:
    """All that can be read in ``widget``."""
    return "\n".join(label.text() for label in widget.findChildren(QLabel) if label.isVisibleTo(widget))
