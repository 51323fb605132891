"""Classification: each sample belongs to exactly one class."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from training.config.objective import Classification


class ClassificationObjective:
    """Cross-entropy over logits (n, classes) and targets (n,) int64, with accuracy.

    Logits of lower precision are widened to float32 before the loss, whatever the compute format.
    """

    def __init__(self, config: Classification, classes: int, device: torch.device) -> None:
        self._label_smoothing = config.label_smoothing
        self._classes = classes
        self._device = device

    def loss_sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(
            _widened(outputs), targets, reduction="sum", label_smoothing=self._label_smoothing
        )

    def new_totals(self) -> ClassificationTotals:
        return ClassificationTotals(self)

    def predict(self, outputs: Tensor) -> Tensor:
        """Class probabilities (n, classes), float32."""
        return functional.softmax(_widened(outputs), dim=-1)

    def initial_loss(self) -> float:
        """log C: the cross-entropy of equal probabilities, with label smoothing or without."""
        return math.log(self._classes)

    @property
    def device(self) -> torch.device:
        """Where the totals are gathered."""
        return self._device


class ClassificationTotals:
    """Sum of losses (float64) and count of right answers (int64).

    Where the device has no float64 (mps) the losses wait as float32 and are summed in float64 when asked for.
    """

    def __init__(self, objective: ClassificationObjective) -> None:
        self._objective = objective
        self._wide = objective.device.type != "mps"
        self._loss = torch.zeros((), dtype=torch.float64, device=objective.device if self._wide else "cpu")
        self._waiting: list[Tensor] = []
        self._correct = torch.zeros((), dtype=torch.int64, device=objective.device)
        self.samples = 0

    @torch.no_grad()
    def add(self, outputs: Tensor, targets: Tensor, loss_sum: Tensor | None = None) -> None:
        loss = self._objective.loss_sum(outputs, targets) if loss_sum is None else loss_sum.detach()
        if self._wide:
            self._loss.add_(loss)
        else:
            self._waiting.append(loss)
        self._correct.add_((outputs.argmax(dim=-1) == targets).sum())
        self.samples += targets.shape[0]

    def metrics(self, prefix: str = "") -> dict[str, float]:
        if not self.samples:
            return {}
        sums = self.state()
        return {f"{prefix}{name}": sums[name] / self.samples for name in ("loss", "accuracy")}

    def state(self) -> dict[str, float]:
        if self._waiting:
            for loss in torch.stack(self._waiting).cpu():
                self._loss.add_(loss)
            self._waiting.clear()
        return {"loss": self._loss.item(), "accuracy": float(self._correct.item()), "samples": float(self.samples)}

    def load(self, sums: Mapping[str, float]) -> None:
        self._waiting.clear()
        self._loss.fill_(sums["loss"])
        self._correct.fill_(int(sums["accuracy"]))
        self.samples = int(sums["samples"])


def _widened(outputs: Tensor) -> Tensor:
    """float32 at least: half precision would lose digits in the softmax."""
    return outputs if outputs.dtype == torch.float64 else outputs.float()
