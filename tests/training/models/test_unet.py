"""U-Net: an answer of the image's own size, whatever that is."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from training.config.sections.model import UNet as UNetSettings
from training.errors import InputError
from training.facts import DataFacts
from training.models.factory import make_model
from training.models.networks.stages import stages


def facts(channels: int, height: int, width: int) -> DataFacts:
    return DataFacts("image", (channels, height, width), "mask", ("sky", "road", "tree"))


@pytest.mark.parametrize("size", [(32, 32), (33, 47), (5, 64), (1, 1)])
@pytest.mark.parametrize("settings", [{}, {"up": "transposed"}, {"norm": "group"}, {"norm": "layer"}, {"norm": "none"}])
def test_any_size_comes_back(size: tuple[int, int], settings: dict[str, Any]) -> None:
    config = UNetSettings.model_validate({"depth": 3, "width": 8} | settings)
    model = make_model(config, facts(2, *size), 3, seed=0)
    assert model(torch.randn(2, 2, *size)).shape == (2, 3, *size)


def test_a_size_that_cannot_be_halved_is_padded_evenly_with_the_mean() -> None:
    model = make_model(UNetSettings(depth=2, width=4, norm="none"), facts(1, 9, 11), 2, seed=0)
    image = torch.randn(1, 1, 9, 11)
    padded = torch.zeros(1, 1, 12, 12)
    padded[..., 1:10, 0:11] = image
    assert torch.equal(model(image), model(padded)[..., 1:10, 0:11])


def test_the_channels_double_with_each_level() -> None:
    model = make_model(UNetSettings(depth=3, width=8, norm="none"), facts(3, 16, 16), 5, seed=0)
    convolutions = [
        (layer.in_channels, layer.out_channels) for layer in model.modules() if isinstance(layer, torch.nn.Conv2d)
    ]
    down = [(3, 8), (8, 8), (8, 16), (16, 16), (16, 32), (32, 32), (32, 64), (64, 64)]
    up = [(64, 32), (64, 32), (32, 32), (32, 16), (32, 16), (16, 16), (16, 8), (16, 8), (8, 8)]
    assert convolutions == [*down, *up, (8, 5)]


def test_its_stages_go_from_the_image_to_the_answer() -> None:
    cut = stages(make_model(UNetSettings(depth=2, width=4), facts(3, 16, 16), 3, seed=0))
    order = ["down", "deepest", "rise", "head"]
    places = [order.index(name.partition(".")[0]) for stage in cut for name in stage]
    assert places == sorted(places)
    assert cut[-1] == ["head.weight", "head.bias"]


def test_only_images_are_taken() -> None:
    with pytest.raises(InputError, match="unet needs images"):
        make_model(UNetSettings(), DataFacts("vector", (4,), "class", ("a", "b")), 2, seed=0)
