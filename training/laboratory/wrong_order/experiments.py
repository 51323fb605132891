"""What each wrong order does: the eight rows of the references' table, on data where it does harm."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from statistics import median

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import cross_entropy
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ExponentialLR

from training.core.readers.toys import make_moons, make_spiral
from training.laboratory.wrong_order import loops
from training.laboratory.wrong_order.loops import Batches, Build, Held, Loop

SEEDS = tuple(range(6))
_BATCH = 32


@dataclass(frozen=True)
class Setting:
    """What a pair of loops is run on. ``outliers``: one sample in 300 lies so many times further out. ``flipped``: share
    of wrong labels among the training samples. ``watched``: what autograd keeps is counted, which takes time."""

    samples: int = 600
    epochs: int = 20
    hidden: int = 32
    dropout: float = 0.0
    lr: float = 0.2
    momentum: float = 0.9
    decay: float = 1.0  # of the rate, at each step of the scheduler
    outliers: float = 1.0
    flipped: float = 0.0
    moons: bool = False
    watched: bool = False


@dataclass(frozen=True)
class Trained:
    """A network after its loop, what the loop still held then, and what it could be judged by."""

    model: nn.Module
    held: Held
    saved_bytes: int
    validation: Batches


@dataclass(frozen=True)
class Figure:
    """What is measured: ``harm`` is how much worse the wrong loop has to be, in the same unit, to count as harmed."""

    name: str
    measure: Callable[[Trained], float]
    show: str
    lower_is_better: bool
    harm: float


@dataclass(frozen=True)
class Experiment:
    """One line in a wrong place: in the loop, or in ``build``, what comes before it."""

    line: str
    place: str
    why: str
    figure: Figure
    setting: Setting
    loop: Loop = loops.in_order
    build: Build = loops.move_before_optimizer

    @property
    def texts(self) -> tuple[str, str]:
        """The lines of the right order and of the wrong one."""
        if self.loop is loops.in_order:
            return source_of(loops.move_before_optimizer), source_of(self.build)
        return source_of(loops.in_order), source_of(self.loop)


@dataclass(frozen=True)
class Result:
    """The figures of each seed."""

    experiment: Experiment
    right: tuple[float, ...]
    wrong: tuple[float, ...]

    @property
    def harmed(self) -> bool:
        """Whether the wrong one is worse by the margin with each seed, from the same weights on the same data."""
        figure = self.experiment.figure
        sign = 1.0 if figure.lower_is_better else -1.0
        pairs = zip(self.right, self.wrong, strict=True)
        # What is no number is harm enough.
        return all(not sign * (wrong - right) < figure.harm for right, wrong in pairs)

    def format_median(self, values: Sequence[float]) -> str:
        """The median over the seeds, as people read it."""
        return self.experiment.figure.show.format(median(values))


def source_of(loop: Loop | Build) -> str:
    """The loop's lines, without its head."""
    lines = inspect.getsource(loop).splitlines()[1:]
    return inspect.cleandoc("\n" + "\n".join(lines))


def run_experiment(experiment: Experiment, seeds: Sequence[int] = SEEDS) -> Result:
    """Train both loops once for each seed: the same data, the same first weights."""

    def measure(build: Build, loop: Loop) -> tuple[float, ...]:
        return tuple(experiment.figure.measure(_train(experiment.setting, build, loop, seed)) for seed in seeds)

    right = measure(loops.move_before_optimizer, loops.in_order)
    return Result(experiment, right, measure(experiment.build, experiment.loop))


def _train(setting: Setting, build: Build, loop: Loop, seed: int) -> Trained:
    train, validation = _make_batches(setting, seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model, optimizer = build(lambda: _make_model(setting), lambda made: _make_optimizer(setting, made))
        scheduler = ExponentialLR(optimizer, setting.decay)
        counted = _SavedTensors()
        watch = saved_tensors_hooks(counted.pack, counted.unpack) if setting.watched else nullcontext()
        with watch:
            held = loop(model, optimizer, scheduler, train, validation, setting.epochs)
        return Trained(model.eval(), held, counted.bytes, validation)


def _make_model(setting: Setting) -> nn.Module:
    """Without values: who builds a loop moves it to the CPU and draws them."""
    hidden, classes, device = setting.hidden, 2 if setting.moons else 3, "meta"
    return nn.Sequential(
        nn.Linear(2, hidden, device=device), nn.ReLU(), nn.Dropout(setting.dropout),
        nn.Linear(hidden, hidden, device=device), nn.ReLU(), nn.Dropout(setting.dropout),
        nn.Linear(hidden, classes, device=device),
    )  # fmt: skip


def _make_optimizer(setting: Setting, model: nn.Module) -> Optimizer:
    return torch.optim.SGD(model.parameters(), setting.lr, momentum=setting.momentum)


def _make_batches(setting: Setting, seed: int) -> tuple[Batches, Batches]:
    numbers = torch.arange(setting.samples + 600)
    if setting.moons:
        points, targets = make_moons(numbers, 0.25, seed), numbers % 2
    else:
        points, targets = make_spiral(numbers, 1.0, 0.15, seed), numbers % 3
    points, targets = points.clone(), targets.clone()
    held_out = numbers >= setting.samples
    wild = ~held_out & (numbers % 300 == 50)
    points[wild] *= setting.outliers
    generator = torch.Generator().manual_seed(seed)
    flipped = ~held_out & (torch.rand(len(numbers), generator=generator) < setting.flipped)
    targets[flipped] = (targets[flipped] + 1) % (2 if setting.moons else 3)
    order = torch.randperm(setting.samples, generator=generator)
    train = list(zip(points[order].split(_BATCH), targets[order].split(_BATCH), strict=True))
    return train, list(zip(points[held_out].split(100), targets[held_out].split(100), strict=True))


class _SavedTensors:
    """Counts the bytes that autograd keeps for a backward pass, as long as it keeps them."""

    def __init__(self) -> None:
        self.bytes = 0

    def pack(self, tensor: Tensor) -> _Kept:
        kept = _Kept(tensor)
        size = tensor.numel() * tensor.element_size()
        self.bytes += size
        weakref.finalize(kept, self._give_back, size)
        return kept

    def unpack(self, kept: _Kept) -> Tensor:
        return kept.tensor

    def _give_back(self, size: int) -> None:
        self.bytes -= size


@dataclass(eq=False)
class _Kept:
    tensor: Tensor


@torch.no_grad()
def measure_accuracy(trained: Trained) -> float:
    """Of the validation samples the share that is right."""
    right = [trained.model(inputs).argmax(1).eq(targets).float() for inputs, targets in trained.validation]
    return float(torch.cat(right).mean())


@torch.no_grad()
def measure_loss(trained: Trained) -> float:
    """Cross-entropy over the validation samples."""
    parts = [cross_entropy(trained.model(inputs), targets, reduction="none") for inputs, targets in trained.validation]
    return float(torch.cat(parts).mean())


def measure_kept_memory(trained: Trained) -> float:
    """Kilobytes for backward passes that never come, still kept when the loop is over."""
    return trained.saved_bytes / 1000


def count_graph_nodes(trained: Trained) -> float:
    """Nodes of autograd's graph that the log of losses keeps alive."""
    seen: set[object] = set()
    waiting = [loss.grad_fn for loss in trained.held[0] if isinstance(loss, Tensor)]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [following for following, _ in node.next_functions]
    return float(len(seen))


_ACCURACY = Figure("validation accuracy", measure_accuracy, "{:.1%}", lower_is_better=False, harm=0.15)
_LOSS = Figure("validation loss", measure_loss, "{:.3f}", lower_is_better=True, harm=0.1)
_MEMORY = Figure("memory kept by validation, KB", measure_kept_memory, "{:,.0f}", lower_is_better=True, harm=100.0)
_NODES = Figure("graph nodes kept by the log", count_graph_nodes, "{:,.0f}", lower_is_better=True, harm=1000.0)

_USUAL = Setting()
_WILD = Setting(outliers=1e5, lr=0.1, epochs=15)  # at 1e3 a network whose gradients vanish may recover

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "model.to(device)",
        "after the optimizer was made",
        "Where the move makes new parameters (here from the meta device), the optimizer updates the old ones, which nobody "
        "uses. For a plain move or half() torch keeps the parameters, and the order does no harm.",
        _ACCURACY,
        _USUAL,
        build=loops.move_after_optimizer,
    ),
    Experiment(
        "optimizer.zero_grad()",
        "after loss.backward()",
        "The gradient is thrown away before the step reads it, so nothing is learned.",
        _ACCURACY,
        _USUAL,
        loops.zero_grad_after_backward,
    ),
    Experiment(
        "clip_grad_norm_()",
        "before loss.backward()",
        "There is no gradient yet to clip; that of a batch with an outlier goes into the weights whole.",
        _ACCURACY,
        _WILD,
        loops.clip_before_backward,
    ),
    Experiment(
        "clip_grad_norm_()",
        "after optimizer.step()",
        "What is clipped was applied already, and is set to zero next.",
        _ACCURACY,
        _WILD,
        loops.clip_after_step,
    ),
    Experiment(
        "scheduler.step()",
        "inside the batch loop",
        "A decay meant for each epoch comes with each batch: the rate is gone before the network knows anything.",
        _ACCURACY,
        Setting(decay=0.9),
        loops.schedule_for_each_batch,
    ),
    Experiment(
        "model.train()",
        "left out after model.eval()",
        "Dropout stays off after the first validation, and the network learns noisy labels by heart.",
        _LOSS,
        Setting(samples=64, epochs=300, hidden=128, dropout=0.5, lr=0.1, flipped=0.3, moons=True),
        loops.never_back_to_train,
    ),
    Experiment(
        "torch.no_grad()",
        "left out of validation",
        "Every validation batch keeps its activations for a backward pass that never comes; with enough of them memory runs out.",
        _MEMORY,
        Setting(epochs=2, hidden=128, watched=True),
        loops.validate_with_gradients,
    ),
    Experiment(
        "loss.item()",
        "left out of the log",
        "Each logged loss keeps its batch's graph alive. After backward that is nodes, no activations: it leaks slowly.",
        _NODES,
        _USUAL,
        loops.log_the_tensor,
    ),
)
