"""Which parameters are decayed."""

from __future__ import annotations

import pytest
import torch
import torchvision
from torch import nn

from training.config.sections.optimizer import AdamW, Muon, Sgd
from training.errors import InputError
from training.models.networks.stages import stages
from training.optim import make_optimizer, parameter_groups
from training.optim.configured_groups import describe_groups


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


class Language(nn.Module):
    """What a language model and a vision transformer have: embeddings, free parameters, blocks, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(11, 8)
        self.pos_embedding = nn.Parameter(torch.zeros(1, 5, 8))
        self.class_token = nn.Parameter(torch.zeros(1, 1, 8))
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(8, 2, 16) for _ in range(2))
        self.head = nn.Linear(8, 11)


EMBEDDINGS = {"token.weight", "pos_embedding", "class_token"}


def test_embeddings_are_spared() -> None:
    net = Language()
    decay, spared = parameter_groups(net, AdamW())
    assert set(names(net, spared)) >= EMBEDDINGS
    assert {"blocks.0.self_attn.in_proj_weight", "head.weight"} <= set(names(net, decay))
    (group,) = parameter_groups(net, AdamW(decay_bias_and_norm=True))
    assert set(names(net, group)) >= EMBEDDINGS


def test_muon_steps_what_lies_between_embeddings_and_head() -> None:
    net = Language()
    groups = {group["name"]: names(net, group) for group in parameter_groups(net, Muon(), stages(net))}
    assert list(groups) == ["Muon", "AdamW, decay", "AdamW, no decay"]
    assert all(name.startswith("blocks.") and name.endswith("weight") for name in groups["Muon"])
    assert len(groups["Muon"]) == 2 * 4
    assert groups["AdamW, decay"] == ["head.weight"]
    assert set(groups["AdamW, no decay"]) >= EMBEDDINGS


def test_rates_by_depth() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 3), nn.Linear(3, 2))
    config = AdamW(layer_decay=0.5, head_lr_factor=10.0)
    found = [
        (group["name"], group["lr_scale"], names(net, group)) for group in parameter_groups(net, config, stages(net))
    ]
    assert found == [
        ("decay, stage 1", 0.25, ["0.weight"]),
        ("no decay, stage 1", 0.25, ["0.bias"]),
        ("decay, stage 2", 0.5, ["1.weight"]),
        ("no decay, stage 2", 0.5, ["1.bias"]),
        ("decay, head", 10.0, ["2.weight"]),
        ("no decay, head", 10.0, ["2.bias"]),
    ]
    head = parameter_groups(net, AdamW(head_lr_factor=3.0), stages(net))
    assert [(group["name"], group.get("lr_scale", 1.0)) for group in head] == [
        ("decay", 1.0),
        ("no decay", 1.0),
        ("decay, head", 3.0),
        ("no decay, head", 3.0),
    ]
    with pytest.raises(ValueError, match="stages"):
        parameter_groups(net, config)


def test_groups_in_figures() -> None:
    net = model()
    for parameter in net[0].parameters():
        parameter.requires_grad_(False)
    found = [tuple(group.model_dump().values()) for group in describe_groups(net, AdamW(weight_decay=0.0), stages(net))]
    assert found == [
        ("decay", 1, 8, True, 1.0),
        ("no decay", 5, 26, False, 1.0),
        ("frozen, no decay", 2, 112, False, 0.0),
    ]
