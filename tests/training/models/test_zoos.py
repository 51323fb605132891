"""torchvision's segmentation networks and timm's: any channels, classes and sizes, clear refusals."""

from __future__ import annotations

import sys

import pytest
import timm
import torch
import torchvision
from torch import nn

from tests.training.known_facts import sample_facts
from training.config import parse_config
from training.config.sections.data.torchvision_names import SEGMENTATION_MODELS
from training.config.sections.pretrained import TimmModel, TorchvisionSegmentation
from training.config.sections.timm_names import TIMM_MODELS
from training.errors import ConfigError, InputError
from training.facts import DataFacts
from training.models import make_model
from training.models.meta_forward import forward_meta
from training.models.networks.norms import refuse_single_samples


def masks(channels: int, side: int = 32) -> DataFacts:
    return DataFacts("image", (channels, side, side + 8), "mask", tuple("abcd"))


def test_lists_of_names_are_the_libraries_own() -> None:
    assert sorted(SEGMENTATION_MODELS) == sorted(torchvision.models.list_models(module=torchvision.models.segmentation))
    assert set(TIMM_MODELS) <= set(timm.list_models())
    assert len(set(TIMM_MODELS)) == len(TIMM_MODELS) >= 60


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if "resnet" in name else name for name in SEGMENTATION_MODELS]
)
def test_every_segmentation_network_answers_for_each_pixel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for init in ("kaiming_normal_", "normal_", "kaiming_uniform_"):
        monkeypatch.setattr(nn.init, init, lambda tensor, *args, **kwargs: tensor)  # weights do not matter here
    for channels in (1, 3):
        model = make_model(TorchvisionSegmentation(name=name), masks(channels), 4, seed=0)
        assert forward_meta(model, masks(channels)).shape == (2, 4, 32, 40)
        assert next(m for m in model.modules() if isinstance(m, nn.Conv2d)).in_channels == channels


def test_a_segmentation_network_answers_as_torchvisions_own() -> None:
    model = make_model(TorchvisionSegmentation(), masks(3), 4, seed=0).eval()
    theirs = torchvision.models.segmentation.lraspp_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=4
    )
    theirs.load_state_dict(model.state_dict())
    images = torch.rand(2, 3, 32, 40)
    assert torch.equal(model(images), theirs.eval()(images)["out"])


def test_single_samples_and_small_images_are_refused() -> None:
    deeplab = make_model(TorchvisionSegmentation(name="deeplabv3_mobilenet_v3_large"), masks(3), 4, seed=0).train()
    with pytest.raises(
        InputError, match=r"loop\.batch_size: the batch norm of this network cannot take batches of a single"
    ):
        refuse_single_samples(deeplab, masks(3))
    with pytest.raises(ConfigError, match="no segmentation network 'fcn_resnet18'; did you mean 'fcn_resnet"):
        parse_config({"model": {"kind": "torchvision_segmentation", "name": "fcn_resnet18"}})
    with pytest.raises(
        ConfigError, match="gives an answer for each pixel, but shapes asks for one answer for each sample"
    ):
        parse_config({"model": {"kind": "torchvision_segmentation"}})


@pytest.mark.parametrize(
    "name",
    [
        "mobilenetv3_small_100",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("resnet18", "vit_tiny_patch16_224", "convnext_atto")),
    ],
)
def test_networks_of_timm(name: str) -> None:
    facts = sample_facts((2, 32, 32))
    config = TimmModel(name=name, drop_path_rate=0.1 if name != "mobilenetv3_small_100" else 0.0)
    model, again = (make_model(config, facts, 5, seed=3) for _ in range(2))
    answer = model(torch.rand(2, 2, 32, 32))
    assert answer.shape == (2, 5)
    answer.sum().backward()
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), again.parameters(), strict=True))


@pytest.mark.parametrize(
    ("config", "shape", "sentence"),
    [
        (
            TimmModel(name="resnet_18"),
            (3, 32, 32),
            r"model\.name: timm has no network 'resnet_18'; did you mean 'resnet",
        ),
        (
            TimmModel(name="halonet26t"),  # whose assertion has no words
            (3, 64, 64),
            r"model\.name: halonet26t cannot take images of 64 x 64; choose the image size 256, which it",
        ),
        (
            TimmModel(name="vgg11", drop_path_rate=0.1),
            (3, 32, 32),
            r"model\.drop_path_rate: vgg11 has no residual branches",
        ),
        (TimmModel(), (4,), "resnet18 needs images, but these samples have the shape 4"),
    ],
)
def test_what_timm_cannot_do(config: TimmModel, shape: tuple[int, ...], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make_model(config, sample_facts(shape), 5, seed=0)


def test_without_timm_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    monkeypatch.delitem(sys.modules, "training.models.zoo.timm_zoo", raising=False)
    with pytest.raises(
        InputError, match=r"model\.kind: timm is not installed .* install it there \(pip install timm\)"
    ):
        make_model(TimmModel(), sample_facts((3, 32, 32)), 2, seed=0)
