"""The layer table."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.training.known_facts import sample_facts
from training.config.sections.model import Mlp, SmallCnn
from training.config.sections.pretrained import TorchvisionModel
from training.models import make_model, summarize


def test_small_cnn_layer_by_layer() -> None:
    summary = summarize(make_model(SmallCnn(), sample_facts((1, 28, 28)), 10, seed=0), sample_facts((1, 28, 28)))
    assert [(layer.type, layer.output_shape, layer.parameters) for layer in summary.layers] == [
        ("Conv2d", (32, 28, 28), 320),
        ("MaxPool2d", (32, 14, 14), 0),
        ("ReLU", (32, 14, 14), 0),
        ("Conv2d", (64, 14, 14), 18496),
        ("MaxPool2d", (64, 7, 7), 0),
        ("ReLU", (64, 7, 7), 0),
        ("Flatten", (3136,), 0),
        ("Linear", (128,), 401536),
        ("ReLU", (128,), 0),
        ("Linear", (10,), 1290),
    ]
    assert summary.parameters == summary.trainable_parameters == 421642
    assert summary.parameter_bytes == 4 * 421642
    assert summary.buffer_bytes == 0


@pytest.mark.parametrize(
    "name", ["resnet18", *(pytest.param(name, marks=pytest.mark.slow) for name in ("vit_b_32", "swin_t", "googlenet"))]
)
def test_layers_add_up_to_the_total(name: str) -> None:
    model = make_model(TorchvisionModel(name=name), sample_facts((3, 64, 64)), 10, seed=0)
    summary = summarize(model, sample_facts((3, 64, 64)))
    wanted = sum(parameter.numel() for parameter in model.parameters())
    assert summary.parameters == wanted == sum(layer.parameters for layer in summary.layers)
    assert summary.layers[0].type == "Conv2d"


def test_frozen_and_shared_parameters() -> None:
    shared = nn.Linear(4, 4)
    model = nn.Sequential(shared, nn.ReLU(), shared, nn.Linear(4, 2).requires_grad_(False))
    before = list(model.parameters())
    summary = summarize(model, sample_facts((4,)))
    assert all(mine is wanted for mine, wanted in zip(model.parameters(), before, strict=True))
    assert summary.parameters == 30
    assert summary.trainable_parameters == 20
    assert [(layer.name, layer.parameters) for layer in summary.layers] == [
        ("0", 20),
        ("1", 0),
        ("3", 10),
    ]


def test_model_and_random_state_are_left_alone() -> None:
    model = make_model(TorchvisionModel(name="mobilenet_v3_small"), sample_facts((3, 32, 32)), 10, seed=0)
    model.train()
    next(iter(model.children())).eval()
    modes = [module.training for module in model.modules()]
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    random_state = torch.get_rng_state()
    summarize(model, sample_facts((3, 32, 32)))
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random_state)
    assert not any(module._forward_hooks for module in model.modules())


def test_failure_leaves_no_hooks_behind() -> None:
    model = make_model(Mlp(), sample_facts((5,)), 3, seed=0).train()
    with pytest.raises(RuntimeError):
        summarize(model, sample_facts((7,)))
    assert not any(module._forward_hooks for module in model.modules())
    assert model.training
