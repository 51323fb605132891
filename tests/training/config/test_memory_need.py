"""What a run needs of disk and memory, reckoned: no more than the optimizers really keep."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from training.config import RunConfig
from training.config.rules.memory_need import checkpoint_bytes, training_bytes
from training.models.networks.stages import stages
from training.optim import make_optimizer


@pytest.mark.parametrize(
    ("optimizer", "loop", "copies"),
    [
        ({"kind": "adamw"}, {}, 3),
        ({"kind": "adamw", "amsgrad": True}, {}, 4),
        ({"kind": "sgd"}, {}, 2),
        ({"kind": "sgd", "momentum": 0.0, "nesterov": False}, {}, 1),
        ({"kind": "adam"}, {"ema_decay": 0.999}, 4),
    ],
)
def test_a_checkpoint_holds_the_weights_and_what_the_optimizer_remembers(
    optimizer: dict[str, object], loop: dict[str, object], copies: int
) -> None:
    config = RunConfig.model_validate({"optimizer": optimizer, "loop": loop, "schedule": {"kind": "constant"}})
    assert checkpoint_bytes(config, 1000, 0) == 1000 * copies


@pytest.mark.parametrize(
    "optimizer",
    [
        {"kind": "adamw"},
        {"kind": "adam", "amsgrad": True},
        {"kind": "nadam"},
        {"kind": "radam"},
        {"kind": "sgd"},
        {"kind": "sgd", "momentum": 0.0, "nesterov": False},
        {"kind": "rmsprop", "momentum": 0.9, "centered": True},
        {"kind": "rmsprop", "momentum": 0.0},
        {"kind": "adagrad"},
        {"kind": "adafactor"},
        {"kind": "muon"},
    ],
)
def test_what_is_reckoned_is_what_the_optimizer_keeps(optimizer: dict[str, Any]) -> None:
    config = RunConfig.model_validate({"optimizer": optimizer, "schedule": {"kind": "constant"}})
    model = nn.Sequential(nn.Linear(300, 200), nn.Linear(200, 100), nn.Linear(100, 10))
    weights = sum(parameter.nbytes for parameter in model.parameters())
    made = make_optimizer(model, config.optimizer, torch.device("cpu"), stages=stages(model))
    values = (value for state in made.state.values() for value in state.values() if torch.is_tensor(value))
    kept = sum(value.nbytes for value in values)
    reckoned = checkpoint_bytes(config, weights, 0) - weights
    assert reckoned <= kept <= reckoned + 0.05 * weights
    assert training_bytes(config, weights, 0) == 2 * weights + reckoned


def test_frozen_weights_have_no_gradient_and_no_moments() -> None:
    config = RunConfig.model_validate({"optimizer": {"kind": "adamw"}})
    assert training_bytes(config, 1000, 50, 100) == 1050 + 3 * 100
