"""Knowledge distillation: a network learns from samples and from a trained network's answers to them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from training.config.objective import Distillation
from training.facts import DataFacts
from training.objectives.confusion import Confusion
from training.objectives.numbers import widened
from training.objectives.objective import Counter, Objective


class DistillationObjective(Objective):
    """alpha * T² * KL(teacher || student), both softened by the temperature T, + (1 - alpha) * cross-entropy.

    Formula: Hinton, Vinyals and Dean, 2015; T² keeps the gradients' size. The mean is over samples, as
    ``nn.KLDivLoss(reduction="batchmean")`` takes it. Targets are those that ``with_answers`` makes.
    """

    probabilities = "softmax"

    def __init__(self, config: Distillation, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        self._temperature = config.temperature
        self._alpha = config.alpha

    def loss_sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        logits = widened(outputs)
        truth, taught = self._parted(targets)
        soft = functional.kl_div(
            functional.log_softmax(logits / self._temperature, dim=1),
            functional.log_softmax(taught.to(logits.dtype) / self._temperature, dim=1),
            reduction="sum",
            log_target=True,
        )
        truth = truth.to(logits.dtype) if truth.is_floating_point() else truth
        hard = functional.cross_entropy(logits, truth, reduction="sum")
        return self._alpha * self._temperature**2 * soft + (1.0 - self._alpha) * hard

    def _parted(self, targets: Tensor) -> tuple[Tensor, Tensor]:
        """The true classes (n,) int64, or (n, classes) of mixed samples, and the teacher's logits (n, classes)."""
        taught = targets[:, -self.outputs :]
        if targets.shape[1] == 1 + self.outputs:
            return targets[:, 0].long(), taught
        return targets[:, : self.outputs], taught

    def counters(self) -> Sequence[Counter]:
        return [_PupilCounter(self)]

    def predict(self, outputs: Tensor) -> Tensor:
        """Class probabilities (n, classes), float32, at temperature 1."""
        return functional.softmax(widened(outputs), dim=-1)

    def initial_loss(self) -> float | None:
        """Not known: it depends on how sure the teacher is."""
        return None

    def judge(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """int64 (n,) classes: answered, true, and answered by the teacher."""
        truth, taught = self._parted(targets)
        return outputs.argmax(1), truth if truth.ndim == 1 else truth.argmax(1), taught.argmax(1)


def with_answers(targets: Tensor, logits: Tensor) -> Tensor:
    """Targets (n,) int64, or (n, classes) of mixed samples, and behind them the teacher's logits (n, classes): float32
    (n, 1 + classes) or (n, classes + classes)."""
    classes = targets if targets.is_floating_point() else targets[:, None].float()  # exact up to 16 million classes
    return torch.cat([classes, logits.float()], dim=1)


class _PupilCounter(Confusion):
    """accuracy, and agreement: the share of samples that get the class the teacher gives them."""

    def __init__(self, objective: DistillationObjective) -> None:
        super().__init__(objective.outputs, objective.device)
        self._objective = objective
        self._agreed = torch.zeros((), dtype=torch.int64, device=objective.device)
        self._samples = 0

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        answered, truth, taught = self._objective.judge(outputs, targets)
        self.count(answered, truth)
        self._agreed.add_((answered == taught).sum())
        self._samples += len(targets)

    def compute(self) -> dict[str, float]:
        return {"accuracy": self.accuracy(), "agreement": self._agreed.item() / self._samples}
