"""fastai: a Learner over the person's DataLoaders, torch's AdamW in its wrapper, ``fit_one_cycle``, GradientClip."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from fastai.callback.core import Callback
from fastai.callback.schedule import fit_one_cycle  # noqa: F401 - importing it gives Learner the method
from fastai.callback.training import GradientAccumulation
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.metrics import accuracy
from fastai.optimizer import OptimWrapper
from torch import Tensor, nn

from tests.benchmarks.compare.task import Clock, Task


class ClipAndKeep(Callback):
    """GradientClip that keeps the norm, and the loss and rate of each step, as tensors in lists."""

    order = GradientAccumulation.order + 1

    def __init__(self, clip_norm: float) -> None:
        super().__init__()
        self.clip_norm = clip_norm
        self.kept: list[tuple[Tensor, float, Tensor]] = []

    def before_step(self) -> None:
        norm = nn.utils.clip_grad_norm_(self.learn.model.parameters(), self.clip_norm)
        self.kept.append((self.learn.loss.detach(), self.learn.opt.hypers[-1]["lr"], norm))


class Timing(Callback):
    """Starts before the first batch and reads the recorder's metrics after each validation."""

    order = 100

    def __init__(self, clock: Clock, manager: ClipAndKeep) -> None:
        super().__init__()
        self.clock, self.manager = clock, manager

    def before_fit(self) -> None:
        self.clock.start()

    def after_epoch(self) -> None:
        loss, right = self.learn.step_logger.values[-1][-2:]
        self.clock.steps = len(self.manager.kept)
        self.clock.validated(float(loss), float(right))


def train(task: Task, clock: Clock) -> None:
    torch.manual_seed(0)
    data = DataLoaders(task.loader("train"), task.loader("validation"), device=torch.device("cpu"))
    settings: dict[str, Any] = {"fused": True} if task.fused else {}
    manager = ClipAndKeep(task.clip_norm)
    callbacks: list[Callback] = [manager, Timing(clock, manager)]
    if task.accumulation > 1:
        callbacks.append(GradientAccumulation(task.batch_size * task.accumulation))
    learner = Learner(
        data,
        task.model(),
        loss_func=nn.CrossEntropyLoss(),
        opt_func=partial(OptimWrapper, opt=partial(torch.optim.AdamW, **settings)),
        metrics=accuracy,
        cbs=callbacks,
        train_bn=True,
    )
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(
            task.epochs,
            lr_max=task.max_lr,
            div=25.0,
            div_final=25e4,
            pct_start=0.3,
            moms=(0.95, 0.85, 0.95),
            wd=task.config.optimizer.weight_decay,
        )
