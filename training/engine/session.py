"""``Session``: what a run holds while it works, and what of it a checkpoint keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from training.checkpoints.snapshot import RngState, TrainingState
from training.config import RunConfig
from training.config.sections.objective import Distillation, OwnLoss
from training.config.sections.user_file import UserFile
from training.data import Data, MicroBatches
from training.engine.device import Numerics
from training.engine.progress import Progress
from training.engine.ranks.group import ALONE, Ranks
from training.engine.ranks.shared_step import SharedStep
from training.engine.watches.watch import Watch
from training.models.flops import samples_at_once
from training.models.zoo.pretrained import Pretrained
from training.objectives import Objective
from training.optim.averaging import WeightAverage
from training.optim.freezing import Freezing
from training.optim.fused_step import remember_state
from training.optim.guard import Guard
from training.optim.optimizers import cycle_momentum, load_optimizer
from training.own_code.user_rng import seed_user_rng, set_user_rng_state, set_user_seed, user_rng_state
from training.schedules import Schedule

Clip = Callable[[Iterable[nn.Parameter]], Tensor]
"""Clips the gradients; returns the norm before."""


TimePart = Callable[[str, Callable[..., Any]], Callable[..., Any]]
"""(part of a step, function) -> the function, timed."""


class WholeStep(Protocol):
    """Does what ``train_step`` does, as compiled code."""

    def __call__(self, session: Session, window: MicroBatches, lr: float) -> tuple[Tensor, Tensor]: ...

    def remember(self) -> None:
        """Take the session's tensors as they are now; to be called after state was loaded."""
        ...


@dataclass
class Session:
    """Everything a run computes with."""

    config: RunConfig
    device: torch.device
    numerics: Numerics
    data: Data
    model: nn.Module
    answer: nn.Module  # the model, whose answers are looked at where a person wrote it
    parameters: list[nn.Parameter]
    objective: Objective
    optimizer: torch.optim.Optimizer
    clip: Clip
    guard: Guard
    schedule: Schedule
    ema: WeightAverage | None
    total_steps: int
    freezing: Freezing
    beginning: Pretrained | None = None  # known weights, where the network began with such
    progress: Progress = field(default_factory=Progress)
    absent_generators: list[Tensor] = field(default_factory=list)  # of GPUs that only another machine has
    watches: list[Watch] = field(default_factory=list)
    unwatched: range = range(0)  # steps that none of them looks at, as far as is known
    time_part: TimePart | None = None  # while a profile is taken
    forward: Callable[[Tensor], Any] | None = None  # in training, where it is not ``answer``
    compiled: WholeStep | None = None  # takes the place of ``train_step``
    shared: SharedStep | None = None  # where batches are cut into slots
    ranks: Ranks = ALONE  # that train together, once all of them are ready

    @property
    def runs_user_code(self) -> bool:
        """Whether code of a person's own (the network's, a teacher's) may draw Python's and NumPy's random numbers."""
        return isinstance(self.config.model, UserFile) or isinstance(self.config.objective, Distillation | OwnLoss)

    def count_parameters(self) -> int:
        """Of the network, frozen ones too."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def seed_user_code(self, what: str) -> AbstractContextManager[None]:
        """For a pass outside training: the person's code draws what follows from the step, and training goes on as if it had
        drawn nothing."""
        if self.runs_user_code:
            return seed_user_rng(self.config.seed, what, self.progress.step)
        return nullcontext()

    def evaluation_size(self, batch_size: int) -> int:
        """Samples to a batch where no gradients are kept, beside training batches of ``batch_size``: as many where they are
        compared with each other, so that the loss is of the same kind."""
        if self.objective.compares_samples:
            return self.config.loop.validation_batch_size or batch_size
        return self.config.loop.validation_batch_size or samples_at_once(self.model, self.data.facts, 2 * batch_size)

    def cut_batches(self) -> None:
        """Cut the windows into batches as large as ``progress`` says, else the settings: the same samples in each step."""
        loop, progress = self.config.loop, self.progress
        size = progress.batch_size or loop.batch_size
        finer = replace(self.data.plan, batch_size=size, accumulation=loop.batch_size * loop.accumulation // size)
        self.data.cut(finer, progress.evaluation_size or self.evaluation_size(size))

    def next_lr(self) -> float:
        """The learning rate of the step that comes next."""
        return self.schedule.lr(self.progress.step) * self.progress.rate_factor

    def end_epoch(self) -> None:
        """The step that comes next is the first of another epoch."""
        self.progress.end_epoch()
        self.freezing.follow(self.progress.epoch)

    def make_ready(self) -> None:
        """For the step that comes next: freeze what is due in its epoch, and set the momentum, where the schedule has one."""
        self.freezing.follow(self.progress.epoch)
        self.set_momentum()

    def set_momentum(self) -> None:
        """Of the step that comes next, where the schedule says which."""
        momentum = self.schedule.momentum(self.progress.step)
        if momentum is not None:
            cycle_momentum(self.optimizer, momentum)

    def update_average(self, stepped: Tensor | bool) -> None:
        """After a step, before it is counted: take the weights into their average, where that is due."""
        if self.ema is not None and self.ema.is_due(self.progress.step + 1):
            self.ema.update(stepped)

    def remember_state(self) -> None:
        """To be called after weights, buffers or the optimizer's state were changed by something else than a step."""
        self.guard.remember()
        remember_state(self.optimizer)

    def training_state(self) -> TrainingState:
        """All but the weights.

        The optimizer's step counts may be views of one tensor (``optim.fused_step``): to be copied one by one, as
        ``checkpoints.Snapshot`` does, or ``torch.save`` writes all of it for each.
        """
        scaler, plateau = self.numerics.scaler, self.schedule.plateau
        return {
            "progress": asdict(self.progress),
            "optimizer": self.optimizer.state_dict(),
            "scaler": scaler.state_dict(),
            "plateau": plateau.state() if plateau else {},
            "ema_updates": int(self.ema.count) if self.ema is not None else 0,
            "rng": self.random_state(),
        }

    def load_training_state(self, state: TrainingState) -> None:
        """Undo ``training_state``, after the weights were loaded: the next step is the one that would have come next."""
        self.progress = Progress(**state["progress"])
        load_optimizer(self.optimizer, state["optimizer"])
        if state["scaler"]:
            self.numerics.scaler.load_state_dict(state["scaler"])
        if self.schedule.plateau and state["plateau"]:
            self.schedule.plateau.load(state["plateau"])
        self.remember_state()
        self.cut_batches()
        self.load_random_state(state["rng"])
        self.make_ready()
        if self.compiled is not None:
            self.compiled.remember()

    def random_state(self) -> RngState:
        """Where the random generators stand that a step draws from; no device is waited for."""
        state = rng_state(self.absent_generators)
        if self.runs_user_code:
            state["python"], state["numpy"] = user_rng_state()
        return state

    def load_random_state(self, state: RngState) -> None:
        """Put the random generators back."""
        self.absent_generators = load_rng_state(state)
        if self.runs_user_code:
            if "python" in state:
                set_user_rng_state(state["python"], state["numpy"])
            else:  # of a run that seeded them at every step
                set_user_seed(self.config.seed, "training", self.progress.step)


def rng_state(absent: Sequence[Tensor] = ()) -> RngState:
    """torch's random generators: they drive dropout. Order and augmentation need no state. ``absent`` are those of GPUs
    that come after this machine's."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    state: RngState = {"cpu": torch.get_rng_state(), "cuda": [*cuda, *absent]}
    if torch.backends.mps.is_available():
        state["mps"] = torch.mps.get_rng_state()
    return state


def load_rng_state(state: RngState) -> list[Tensor]:
    """Put torch's random generators back; returns the states of GPUs that are not here."""
    torch.set_rng_state(state["cpu"])
    saved = state["cuda"]
    here = torch.cuda.device_count() if torch.cuda.is_available() else 0
    for index, generator in enumerate(saved[:here]):
        torch.cuda.set_rng_state(generator, index)
    if "mps" in state and torch.backends.mps.is_available():
        torch.mps.set_rng_state(state["mps"])
    return saved[here:]
