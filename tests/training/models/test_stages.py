"""A network cut into stages from input to head."""

from __future__ import annotations

import pytest
import torch
import torchvision
from torch import nn

from training.models.networks.stages import stages


def built(name: str) -> nn.Module:
    with torch.device("meta"):
        return torchvision.models.get_model(name)


@pytest.mark.parametrize(
    ("name", "count", "first", "head"),
    [
        ("resnet18", 10, {"conv1.weight", "bn1.weight", "bn1.bias"}, {"fc.weight", "fc.bias"}),
        (
            "vit_b_32",
            14,
            {"class_token", "conv_proj.weight", "conv_proj.bias", "encoder.pos_embedding"},
            {"heads.head.weight", "heads.head.bias"},
        ),
        (
            "convnext_tiny",
            23,
            {"features.0.0.weight", "features.0.0.bias", "features.0.1.weight", "features.0.1.bias"},
            {"classifier.2.weight", "classifier.2.bias"},
        ),
        (
            "efficientnet_b0",
            19,
            {"features.0.0.weight", "features.0.1.weight", "features.0.1.bias"},
            {"classifier.1.weight", "classifier.1.bias"},
        ),
        (
            "vgg11",
            11,
            {"features.0.weight", "features.0.bias"},
            {"classifier.6.weight", "classifier.6.bias"},
        ),
    ],
)
def test_torchvisions_networks(name: str, count: int, first: set[str], head: set[str]) -> None:
    model = built(name)
    found = stages(model)
    assert len(found) == count
    assert (set(found[0]), set(found[-1])) == (first, head)
    placed = [each for stage in found for each in stage]
    assert sorted(placed) == sorted(name for name, _ in model.named_parameters())


def test_blocks_of_a_residual_network_stay_whole_and_in_order() -> None:
    found = stages(built("resnet18"))
    assert [stage[0].rsplit(".", 2)[0] for stage in found[1:-1]] == [
        f"layer{i}.{j}" for i in (1, 2, 3, 4) for j in (0, 1)
    ]


@pytest.mark.parametrize("name", ["swin_t", "densenet121", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x1_0"])
def test_no_parameter_is_lost_and_the_head_is_small(name: str) -> None:
    model = built(name)
    found = stages(model)
    placed = [each for stage in found for each in stage]
    assert sorted(placed) == sorted(name for name, _ in model.named_parameters())
    assert len(found) >= 10
    assert len(found[-1]) <= 2


def test_norms_belong_to_the_layer_before_them() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4, 2))
    assert stages(model) == [["0.weight", "0.bias", "1.weight", "1.bias"], ["4.weight", "4.bias"]]


class Language(nn.Module):
    """Embeddings, blocks and a head."""

    def __init__(self, tied: bool) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(11, 8), nn.Embedding(5, 8)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(8, 2, 16) for _ in range(3))
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 11, bias=False)
        if tied:
            self.head.weight = self.token.weight


def test_embeddings_are_the_input() -> None:
    found = stages(Language(tied=False))
    assert found[0] == ["token.weight", "position.weight"]
    assert [stage[0].split(".")[1] for stage in found[1:4]] == ["0", "1", "2"]
    assert found[3][-2:] == ["norm.weight", "norm.bias"]
    assert found[4] == ["head.weight"]


def test_a_shared_weight_belongs_where_it_comes_first() -> None:
    found = stages(Language(tied=True))
    assert found[0] == ["token.weight", "position.weight"]
    assert found[:4] == stages(Language(tied=False))[:4]
    assert found[4:] == [[]]  # the head is no part of a block, though it has no weights of its own


def test_without_parameters_there_is_no_stage() -> None:
    assert stages(nn.ReLU()) == []
