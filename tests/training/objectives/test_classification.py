"""Loss, accuracy and their per-sample averages."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.training.known_facts import class_facts
from tests.training.objectives.passes import evaluate_batches
from training.config.sections.objective import Classification
from training.objectives import make_objective

CPU = torch.device("cpu")


def batch(samples: int, classes: int = 7, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(samples, classes, generator=generator) * 3, torch.randint(
        classes, (samples,), generator=generator
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_loss_equals_torch(smoothing: float) -> None:
    objective = make_objective(Classification(label_smoothing=smoothing), class_facts(7), CPU)
    outputs, targets = batch(33)
    wanted = nn.CrossEntropyLoss(label_smoothing=smoothing)(outputs, targets)
    torch.testing.assert_close(objective.loss.sum(outputs, targets) / 33, wanted)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_low_precision_outputs_are_widened_first(dtype: torch.dtype) -> None:
    objective = make_objective(Classification(), class_facts(7), CPU)
    outputs, targets = batch(4000)
    narrow = outputs.to(dtype)
    loss = objective.loss.sum(narrow, targets)
    assert loss.dtype == torch.float32
    assert torch.equal(loss, functional.cross_entropy(narrow.float(), targets, reduction="sum"))


def test_averages_are_per_sample_whatever_the_batches() -> None:
    objective = make_objective(Classification(label_smoothing=0.1), class_facts(7), CPU)
    outputs, targets = batch(1000)
    wanted = functional.cross_entropy(outputs.double(), targets, label_smoothing=0.1).item()
    right = (outputs.argmax(1) == targets).sum().item()
    for sizes in ([1000], [999, 1], [1] * 1000, [300, 300, 300, 100]):
        metrics, _ = evaluate_batches(objective, zip(outputs.split(sizes), targets.split(sizes), strict=True))
        assert list(metrics) == ["loss", "accuracy", "top5_accuracy", "f1"]
        assert metrics["loss"] == pytest.approx(wanted, rel=1e-6)
        assert metrics["accuracy"] == right / 1000


def test_sums_do_not_lose_small_losses_in_large_ones() -> None:
    objective = make_objective(Classification(), class_facts(2), CPU)
    target = torch.zeros(1, dtype=torch.int64)
    batches = [(torch.tensor([[-1e8, 0.0]]), target), *[(torch.zeros(1, 2), target)] * 1000]
    small = functional.cross_entropy(torch.zeros(1, 2), target).item()
    assert evaluate_batches(objective, batches)[0]["loss"] * 1001 == pytest.approx(
        1e8 + 1000 * small, rel=1e-14
    )  # float32: 1e8


def test_initial_loss_is_that_of_equal_probabilities() -> None:
    objective = make_objective(Classification(label_smoothing=0.3), class_facts(10), CPU)
    targets = torch.arange(10)
    assert objective.initial_loss == math.log(10)
    assert objective.loss.sum(torch.zeros(10, 10), targets).item() / 10 == pytest.approx(math.log(10))
