"""``Session``: what a run holds while it works, and what of it a checkpoint keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from training.config import RunConfig
from training.config.objective import Distillation
from training.config.user_file import UserFile
from training.core.batch_plan import BatchPlan
from training.data import Data, Window
from training.engine.device import Numerics
from training.models.own_draws import own_draws
from training.models.pretrained import Beginning
from training.models.user_file import refuse_misfit
from training.models.work import samples_at_once
from training.objectives import Objective
from training.optim.ema import Average
from training.optim.freezing import Freezing
from training.optim.guard import Guard
from training.optim.optimizers import load_optimizer, set_rate
from training.runs.profile_record import Lap
from training.schedules import Schedule


@dataclass
class Progress:
    """Where a run stands. All of it is saved, so that a resumed run goes on with the very next window."""

    step: int = 0  # attempted optimizer steps
    epoch: int = 0  # whole epochs done
    window: int = 0  # windows done inside the current epoch
    skipped: int = 0  # steps whose gradient was not finite
    skipped_in_a_row: int = 0
    roll_backs: int = 0  # how often too many skips in a row took the run back
    rate_factor: float = 1.0  # by which the schedule's rate is multiplied since then
    loss_sum: float = 0.0  # of the current epoch, over samples
    loss_samples: int = 0
    samples: int = 0  # seen in all
    metrics: dict[str, float] = field(default_factory=dict)
    metrics_step: int = 0  # of the validation they are from
    best_value: float | None = None
    best_step: int = 0
    counted_value: float | None = None  # the monitored metric when early stopping last saw enough of a gain
    stale_validations: int = 0  # since then
    finished: str = ""  # why no further step is due, once that is so
    batch_size: int = 0  # once memory ran out with the one of the settings, which 0 stands for
    evaluation_size: int = 0  # likewise, outside training

    @property
    def best_saved(self) -> int | None:
        """The step whose checkpoint is the best; None before the first validation."""
        return self.best_step if self.best_value is not None else None


def no_watch(_part: Lap) -> None:
    """Nobody wants to know where a step's time goes."""


class WholeStep(Protocol):
    """Does what ``train_step`` does, as compiled code."""

    def __call__(self, session: Session, window: Window) -> tuple[Tensor, Tensor]: ...

    def remember(self) -> None:
        """Take the session's tensors as they are now; to be called after state was loaded."""
        ...


@dataclass
class Session:
    """Everything a run computes with. ``raw_model`` is the module whose weights are saved."""

    config: RunConfig
    device: torch.device
    numerics: Numerics
    data: Data
    model: nn.Module
    parameters: list[nn.Parameter]
    objective: Objective
    optimizer: torch.optim.Optimizer
    guard: Guard
    schedule: Schedule
    ema: Average | None  # of the weights: EMA or SWA
    total_steps: int
    freezing: Freezing
    beginning: Beginning | None = None  # known weights, where the network began with such
    progress: Progress = field(default_factory=Progress)
    absent_generators: list[Tensor] = field(default_factory=list)  # of GPUs that only another machine has
    lap: Callable[[Lap], None] = no_watch  # told the name of each part of a step as it ends, for a profile
    forward: Callable[[Tensor], Any] | None = None  # in training, where it is not the model itself
    compiled: WholeStep | None = None  # takes the place of ``train_step``
    lr: float = 0.0  # the rate of the step that comes next, by ``apply_schedule``

    def draws(self, what: str) -> AbstractContextManager[None]:
        """For what comes next: Python's and NumPy's random numbers, where code of a person's own (the network's, a teacher's)
        may draw some. torch's are saved."""
        if isinstance(self.config.model, UserFile) or isinstance(self.config.objective, Distillation):
            return own_draws(self.config.seed, what, self.progress.step)
        return nullcontext()

    def told(self, inputs: Tensor, outputs: Any) -> Any:
        """``outputs``, the network's answer to ``inputs``. Raises TrainingError for what a person's own may answer in the end."""
        if isinstance(self.config.model, UserFile):
            refuse_misfit(self.config.model, self.data.facts, self.objective.outputs, inputs, outputs)
        return outputs

    def evaluation_size(self, batch_size: int) -> int:
        """Samples to a batch where no gradients are kept, beside training batches of ``batch_size``."""
        return self.config.loop.validation_batch_size or samples_at_once(self.model, self.data.facts, 2 * batch_size)

    def cut_batches(self) -> None:
        """Cut the windows into batches as large as ``progress`` says, else the settings: the same samples in each step."""
        loop, progress = self.config.loop, self.progress
        size = progress.batch_size or loop.batch_size
        finer = BatchPlan(self.data.plan.n, size, loop.batch_size * loop.accumulation // size)
        self.data.cut(finer, progress.evaluation_size or self.evaluation_size(size))

    def apply_schedule(self) -> None:
        """Make ready for the step that comes next: the rate and, under one-cycle, the momentum; what is frozen."""
        step = self.progress.step
        self.freezing.follow(self.progress.epoch)
        self.lr = self.schedule.lr(step) * self.progress.rate_factor
        set_rate(self.optimizer, self.lr, self.schedule.momentum(step))

    def average(self, took_place: Tensor | bool) -> None:
        """After a step, before it is counted: take the weights into their average, where that is due."""
        if self.ema is not None and self.ema.is_due(self.progress.step + 1):
            self.ema.update(took_place)

    def training_state(self) -> dict[str, Any]:
        """All but the weights: plain numbers and tensors that ``torch.load(weights_only=True)`` accepts.

        The optimizer's step counts may be views of one tensor (``optim.update``): to be copied one by one, as
        ``checkpoints.Snapshot`` does, or ``torch.save`` writes all of it for each.
        """
        scaler, plateau = self.numerics.scaler, self.schedule.plateau
        return {
            "progress": asdict(self.progress),
            "optimizer": self.optimizer.state_dict(),
            "scaler": scaler.state_dict() if scaler else {},
            "plateau": plateau.state() if plateau else {},
            "ema_updates": self.ema.updates if self.ema is not None else 0,
            "rng": rng_state(self.absent_generators),
        }

    def load_training_state(self, state: dict[str, Any]) -> None:
        """Undo ``training_state``, after the weights were loaded: the next step is the one that would have come next."""
        self.progress = Progress(**state["progress"])
        load_optimizer(self.optimizer, state["optimizer"])
        if self.numerics.scaler and state["scaler"]:
            self.numerics.scaler.load_state_dict(state["scaler"])
        if self.schedule.plateau and state["plateau"]:
            self.schedule.plateau.load(state["plateau"])
        self.guard.remember()
        self.cut_batches()
        self.load_random_state(state["rng"])
        self.apply_schedule()
        if self.compiled is not None:
            self.compiled.remember()

    def load_random_state(self, state: dict[str, Any]) -> None:
        """Put torch's random generators back."""
        self.absent_generators = load_rng_state(state)


def rng_state(absent: Sequence[Tensor] = ()) -> dict[str, Any]:
    """torch's random generators: they drive dropout. Order and augmentation need no state. ``absent`` are those of GPUs
    that come after this machine's."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    state = {"cpu": torch.get_rng_state(), "cuda": [*cuda, *absent]}
    return {**state, "mps": torch.mps.get_rng_state()} if torch.backends.mps.is_available() else state


def load_rng_state(state: dict[str, Any]) -> list[Tensor]:
    """Put torch's random generators back; returns the states of GPUs that are not here."""
    torch.set_rng_state(state["cpu"])
    saved: list[Tensor] = state["cuda"]
    here = torch.cuda.device_count() if torch.cuda.is_available() else 0
    for index, generator in enumerate(saved[:here]):
        torch.cuda.set_rng_state(generator, index)
    if "mps" in state and torch.backends.mps.is_available():
        torch.mps.set_rng_state(state["mps"])
    return saved[here:]
