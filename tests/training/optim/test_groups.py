"""Which parameters are decayed."""

from __future__ import annotations

import pytest
import torch
import torchvision
from torch import nn

from training.config.optimizer import AdamW, Sgd
from training.errors import InputError
from training.optim import make_optimizer, parameter_groups


def names(model: nn.Module, group: dict) -> list[str]:  # type: ignore[type-arg]
    by_identity = {id(parameter): name for name, parameter in model.named_parameters()}
    return [by_identity[id(parameter)] for parameter in group["params"]]


def model() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.LayerNorm([4, 2]), nn.Linear(4, 2))


def test_biases_and_norms_are_spared() -> None:
    net = model()
    decay, spared = parameter_groups(net, AdamW(weight_decay=0.3))
    assert (decay["name"], decay["weight_decay"], names(net, decay)) == ("decay", 0.3, ["0.weight", "4.weight"])
    assert (spared["name"], spared["weight_decay"]) == ("no decay", 0.0)
    # LayerNorm's weight has two dimensions here: the layer decides, not the shape
    assert names(net, spared) == ["0.bias", "1.weight", "1.bias", "3.weight", "3.bias", "4.bias"]


def test_decay_everything_when_told() -> None:
    net = model()
    (group,) = parameter_groups(net, AdamW(decay_bias_and_norm=True))
    assert names(net, group) == [name for name, _ in net.named_parameters()]


def test_frozen_parameters_and_empty_groups_are_left_out() -> None:
    net = model()
    for module in (net[0], net[4]):
        module.requires_grad_(False)
    (group,) = parameter_groups(net, AdamW())
    assert group["name"] == "no decay"
    assert names(net, group) == ["1.weight", "1.bias", "3.weight", "3.bias"]


def test_nothing_to_train_is_said() -> None:
    net = model().requires_grad_(False)
    with pytest.raises(InputError, match="no trainable parameters"):
        make_optimizer(net, AdamW(), torch.device("cpu"))


@pytest.mark.parametrize("name", ["resnet18", "swin_t", "vit_b_32", "maxvit_t"])
def test_real_networks_are_split_without_loss(name: str) -> None:
    with torch.device("meta"):
        net = torchvision.models.get_model(name)
    decay, spared = parameter_groups(net, Sgd(weight_decay=1e-4))
    both = decay["params"] + spared["params"]
    assert len({id(parameter) for parameter in both}) == len(both) == len(list(net.parameters()))
    assert not any("norm" in name.split(".")[-2:] or name.endswith("bias") for name in names(net, decay))
    assert min(parameter.ndim for parameter in decay["params"]) >= 2


def test_shared_parameter_appears_once() -> None:
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = first.weight
    groups = parameter_groups(nn.Sequential(first, second), AdamW())
    assert [len(group["params"]) for group in groups] == [1, 2]
