"""Lightning: a LightningModule and its Trainer, with everything off that a run can do without.

Loss, rate and norm of each step are kept as tensors in lists, which costs less than any of its loggers.
"""

from __future__ import annotations

import logging
import warnings
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn
from torch.nn import functional

from tests.benchmarks.compare.task import Clock, Task


class Module(lightning.LightningModule):
    def __init__(self, task: Task) -> None:
        super().__init__()
        self.task, self.model = task, task.model()
        self.losses: list[Tensor] = []
        self.norms: list[Tensor] = []
        self.rates: list[float] = []
        self.sums: list[tuple[Tensor, Tensor, int]] = []

    def training_step(self, batch: Any, _index: int) -> Tensor:
        inputs, targets = batch
        loss = functional.cross_entropy(self.model(inputs), targets)
        self.losses.append(loss.detach())
        return loss

    def configure_gradient_clipping(self, _optimizer: Any, *_: Any, **__: Any) -> None:
        self.norms.append(nn.utils.clip_grad_norm_(self.model.parameters(), self.task.clip_norm))
        self.rates.append(self.lr_schedulers().get_last_lr()[0])

    def validation_step(self, batch: Any, _index: int) -> None:
        inputs, targets = batch
        outputs = self.model(inputs)
        loss = functional.cross_entropy(outputs, targets, reduction="sum")
        self.sums.append((loss, (outputs.argmax(1) == targets).sum(), len(targets)))

    def configure_optimizers(self) -> Any:
        optimizer = self.task.optimizer(self.model)
        return [optimizer], [{"scheduler": self.task.scheduler(optimizer), "interval": "step"}]


class Timing(Callback):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_train_start(self, trainer: Any, module: Any) -> None:
        self.clock.start()

    def on_validation_end(self, trainer: Any, module: Module) -> None:
        loss, correct, count = (sum(column) for column in zip(*module.sums, strict=True))
        module.sums.clear()
        self.clock.steps = len(module.norms)
        self.clock.validated(float(loss / count), float(correct / count))


def train(task: Task, clock: Clock) -> None:
    warnings.filterwarnings("ignore")  # it advises more workers, which cost more than they give here
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.manual_seed(0)
    trainer = lightning.Trainer(
        max_epochs=task.epochs,
        accelerator="cpu",
        accumulate_grad_batches=task.accumulation,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[Timing(clock)],
    )
    trainer.fit(Module(task), task.loader("train"), task.loader("validation"))
