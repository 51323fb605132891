"""torchvision's networks: every name, any channels, clear refusals."""

from __future__ import annotations

import pytest
import torch
import torchvision
from torch import nn

from tests.training.known_facts import sample_facts
from training.config.sections.data.torchvision_names import CLASSIFICATION_MODELS
from training.config.sections.pretrained import TorchvisionModel
from training.errors import InputError
from training.models import make_model
from training.models.meta_forward import forward_meta

# One of each family: the others are the same code with more layers, and take longer.
SMALLEST = {
    "alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet", "inception_v3",
    "maxvit_t", "mnasnet0_5", "mobilenet_v2", "mobilenet_v3_small", "regnet_x_400mf", "regnet_y_400mf", "resnet18",
    "resnext50_32x4d", "shufflenet_v2_x0_5", "squeezenet1_1", "swin_t", "swin_v2_t", "vgg11_bn", "vit_b_32",
    "wide_resnet50_2",
}  # fmt: skip
QUICK = {
    "alexnet",
    "mobilenet_v3_small",
    "regnet_x_400mf",
    "resnet18",
    "shufflenet_v2_x0_5",
    "squeezenet1_1",
    "vgg11_bn",
}
SLOW = pytest.mark.slow


def test_list_of_names_is_torchvisions() -> None:
    assert set(CLASSIFICATION_MODELS) > SMALLEST
    assert sorted(CLASSIFICATION_MODELS) == sorted(torchvision.models.list_models(module=torchvision.models))


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=SLOW) for name in sorted(SMALLEST)],
)
def test_every_family_gives_logits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for init in ("trunc_normal_", "kaiming_normal_", "normal_", "xavier_uniform_", "kaiming_uniform_"):
        monkeypatch.setattr(nn.init, init, lambda tensor, *args, **kwargs: tensor)  # weights do not matter here
    side = 224 if name == "maxvit_t" else 96
    for channels in (1, 3):
        model = make_model(TorchvisionModel(name=name), sample_facts((channels, side, side)), 7, seed=0)
        assert forward_meta(model, sample_facts((channels, side, side))).shape == (2, 7)
        assert next(m for m in model.modules() if isinstance(m, nn.Conv2d)).in_channels == channels


@pytest.mark.parametrize(
    "name",
    [
        "mobilenet_v3_small",
        *(pytest.param(name, marks=SLOW) for name in ("resnet18", "googlenet", "vit_b_32", "regnet_x_400mf")),
    ],
)
def test_some_are_really_run_and_trained(name: str) -> None:
    model = make_model(TorchvisionModel(name=name), sample_facts((2, 64, 64)), 4, seed=0)
    logits = model(torch.rand(2, 2, 64, 64))
    assert logits.shape == (2, 4)
    logits.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_first_convolution_keeps_its_settings() -> None:
    gray = make_model(TorchvisionModel(name="resnet18"), sample_facts((1, 64, 64)), 4, seed=0).get_submodule("conv1")
    assert isinstance(gray, nn.Conv2d)
    assert (gray.in_channels, gray.out_channels, gray.kernel_size, gray.stride, gray.padding, gray.bias) == (
        *(1, 64, (7, 7), (2, 2), (3, 3), None),
    )


@pytest.mark.parametrize(
    ("name", "shape", "sentence"),
    [
        ("alexnet", (3, 28, 28), "at least 63 x 63 pixels, but these have 28 x 28"),
        pytest.param("densenet121", (3, 28, 28), "at least 29 x 29 pixels, but these have 28 x 28", marks=SLOW),
        pytest.param("vgg11", (1, 31, 200), "at least 32 x 32 pixels, but these have 31 x 200", marks=SLOW),
        ("vit_b_16", (3, 28, 28), "square images with a side divisible by 16, but these have 28 x 28"),
        ("vit_b_16", (3, 32, 48), "square images with a side divisible by 16, but these have 32 x 48"),
        ("maxvit_t", (3, 32, 32), "square images with a side divisible by 224, but these have 32 x 32"),
        ("resnet18", (2,), "needs images, but these samples have the shape 2"),
    ],
)
def test_sizes_that_do_not_suit_are_refused(name: str, shape: tuple[int, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=f"{name} needs .*{sentence}|{name} {sentence}"):
        make_model(TorchvisionModel(name=name), sample_facts(shape), 10, seed=0)


@pytest.mark.parametrize(
    ("name", "smallest"),
    [pytest.param("alexnet", 63, marks=SLOW), pytest.param("densenet121", 29, marks=SLOW), ("squeezenet1_0", 21)],
)
def test_the_size_named_is_the_smallest_that_works(name: str, smallest: int) -> None:
    make_model(TorchvisionModel(name=name), sample_facts((3, smallest, smallest)), 10, seed=0)
    with pytest.raises(InputError, match=f"at least {smallest} x {smallest}"):
        make_model(TorchvisionModel(name=name), sample_facts((3, smallest - 1, smallest - 1)), 10, seed=0)


@pytest.mark.parametrize("name", ["no_such_network", "fcn_resnet50", "raft_large"])
def test_other_networks_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=rf"model\.name: .*{name}.*for example resnet18"):
        make_model(TorchvisionModel(name=name), sample_facts((3, 64, 64)), 10, seed=0)
