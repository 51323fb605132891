"""The two small networks, and initial weights as a function of the seed."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.training.known_facts import sample_facts
from training.config.sections.model import Mlp, SmallCnn
from training.config.sections.pretrained import TorchvisionModel
from training.errors import InputError
from training.models import make_model

SMALL = [SmallCnn(), SmallCnn(channels=(3, 5), hidden=7, dropout=0.5), Mlp(), Mlp(hidden=(), dropout=0.1)]


@pytest.mark.parametrize("side", [4, 5, 28, 33])
@pytest.mark.parametrize("channels", [1, 3, 7])
@pytest.mark.parametrize("config", SMALL, ids=str)
def test_logits_for_any_image(config: SmallCnn | Mlp, channels: int, side: int) -> None:
    model = make_model(config, sample_facts((channels, side, side + 1)), 11, seed=0)
    assert model(torch.randn(3, channels, side, side + 1)).shape == (3, 11)


@pytest.mark.parametrize("shape", [(2,), (5, 4), (1, 3, 2)])
def test_mlp_takes_any_shape(shape: tuple[int, ...]) -> None:
    model = make_model(Mlp(hidden=(8, 6), activation="tanh", dropout=0.2), sample_facts(shape), 3, seed=0)
    assert model(torch.randn(4, *shape)).shape == (4, 3)
    kinds = [type(module).__name__ for module in model.children()]
    assert kinds == ["Flatten", "Linear", "Tanh", "Dropout", "Linear", "Tanh", "Dropout", "Linear"]


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((2,), "small_cnn needs images, but these samples have the shape 2; choose mlp"),
        ((1, 3, 28), "small_cnn needs images of at least 4 x 4 pixels, but these have 3 x 28"),
    ],
)
def test_small_cnn_says_what_it_cannot_take(shape: tuple[int, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make_model(SmallCnn(), sample_facts(shape), 3, seed=0)


def test_pool_before_relu_equals_relu_before_pool() -> None:
    model = make_model(SmallCnn(), sample_facts((3, 16, 16)), 10, seed=5)
    assert isinstance(model, nn.Sequential)
    textbook = nn.Sequential(*(model[index] for index in (0, 2, 1, 3, 5, 4, *range(6, len(model)))))
    kinds = [type(module).__name__ for module in textbook]
    assert kinds[:6] == ["Conv2d", "ReLU", "MaxPool2d", "Conv2d", "ReLU", "MaxPool2d"]
    images = torch.randn(9, 3, 16, 16)
    gradients = []
    outputs = []
    for network in (model, textbook):
        model.zero_grad()
        outputs.append(network(images))
        outputs[-1].square().sum().backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])  # type: ignore[union-attr]
    assert torch.equal(*outputs)
    for mine, wanted in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, wanted)


@pytest.mark.parametrize("config", [SmallCnn(), Mlp(), TorchvisionModel(name="resnet18")], ids=str)
def test_weights_are_a_function_of_the_seed(config: SmallCnn | Mlp | TorchvisionModel) -> None:
    torch.manual_seed(1)
    first = make_model(config, sample_facts((3, 32, 32)), 5, seed=7).state_dict()
    torch.manual_seed(2)
    torch.randn(100)
    second = make_model(config, sample_facts((3, 32, 32)), 5, seed=7).state_dict()
    other = make_model(config, sample_facts((3, 32, 32)), 5, seed=8).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize("config", [SmallCnn(), TorchvisionModel(name="squeezenet1_1")], ids=str)
def test_callers_random_state_is_left_alone(config: SmallCnn | TorchvisionModel) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    make_model(config, sample_facts((1, 32, 32)), 5, seed=7)
    assert torch.equal(torch.get_rng_state(), before)


def test_dropout_acts_only_while_training() -> None:
    model = make_model(SmallCnn(dropout=0.5), sample_facts((1, 8, 8)), 3, seed=0)
    images = torch.randn(4, 1, 8, 8)
    assert not torch.equal(model(images), model(images))
    model.eval()
    assert torch.equal(model(images), model(images))
