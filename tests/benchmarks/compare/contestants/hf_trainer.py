"""Hugging Face's Trainer, with the log of each step that keeps loss, rate and norm, and nobody who prints it."""

from __future__ import annotations

import tempfile
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import Dataset
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from tests.benchmarks.compare.task import Clock, Task


class Classifier(nn.Module):
    """A model in the form the Trainer asks for."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Tensor, labels: Tensor) -> dict[str, Tensor]:
        logits = self.model(inputs)
        return {"loss": functional.cross_entropy(logits, labels), "logits": logits}


class Timing(TrainerCallback):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self.clock.start()

    def on_evaluate(self, _arguments: Any, state: Any, _control: Any, *, metrics: dict[str, float], **__: Any) -> None:
        self.clock.steps = state.global_step
        self.clock.validated(metrics["eval_loss"], metrics["eval_accuracy"])


def collate(batch: list[Any]) -> dict[str, Tensor]:
    inputs, targets = zip(*batch, strict=True)
    return {"inputs": torch.stack(inputs), "labels": torch.as_tensor(targets)}


def accuracy(predicted: Any) -> dict[str, float]:
    return {"accuracy": float((predicted.predictions.argmax(-1) == predicted.label_ids).mean())}


def train(task: Task, clock: Clock) -> None:
    torch.manual_seed(0)
    training: Dataset[Any] = task.dataset("train")
    with tempfile.TemporaryDirectory() as place:
        arguments = TrainingArguments(
            output_dir=place,
            use_cpu=True,
            num_train_epochs=task.epochs,
            per_device_train_batch_size=task.batch_size,
            per_device_eval_batch_size=task.batch_size,
            gradient_accumulation_steps=task.accumulation,
            dataloader_num_workers=task.workers,
            max_grad_norm=task.clip_norm,
            eval_strategy="epoch",
            save_strategy="no",
            logging_strategy="steps",
            logging_steps=1,
            report_to="none",
            disable_tqdm=True,
            remove_unused_columns=False,
            label_names=["labels"],
        )
        model = Classifier(task.model())
        optimizer = task.optimizer(model)
        trainer = Trainer(
            model,
            arguments,
            data_collator=collate,
            train_dataset=training,
            eval_dataset=task.dataset("validation"),
            compute_metrics=accuracy,
            callbacks=[Timing(clock)],
            optimizers=(optimizer, task.scheduler(optimizer)),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
