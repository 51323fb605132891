"""What is found of a network's size by looking at its samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.data.own_files import written
from tests.training.doctor.sampled import SCORE, look, mend, vectors
from tests.training.doctor.tables import honest, table_config
from tests.training.tiny import tiny
from training.config import parse_config
from training.config.files import config_data


@pytest.mark.parametrize(
    ("overrides", "found"),
    [
        (("model.hidden=[]",), True),
        pytest.param(("model.hidden=[2]",), True, marks=pytest.mark.slow),
        pytest.param(("model.hidden=[1, 64]", "dataset.kind=blobs"), True, marks=pytest.mark.slow),
        pytest.param(("model.hidden=[]", "dataset.kind=blobs"), False, marks=pytest.mark.slow),
        pytest.param(("model.hidden=[16, 16]",), False, marks=pytest.mark.slow),
    ],
)
def test_a_network_without_the_units_that_it_needs(overrides: tuple[str, ...], found: bool) -> None:
    config = tiny("dataset.kind=circles", "dataset.samples=600", "model.kind=mlp", "loop.epochs=30", *overrides)
    told = look(config)
    assert list(told)[:1] == (["model.narrow" if "[]" in overrides[0] else "model.narrow:1"] if found else [])
    if found:
        assert not look(mend(config, *told.values()))


FEATURES = """import torch
from torch import nn


class Features(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.register_buffer("directions", 3 * torch.randn(features, 100))
        self.head = nn.Linear(100, outputs)

    def forward(self, x):
        return self.head((x @ self.directions).cos())


def build(features: int, outputs: int):
    return Features(features, outputs)
"""


def test_a_network_that_bends_without_a_hidden_layer(tmp_path: Path) -> None:
    config = tiny("dataset.kind=circles", "dataset.samples=600", "loop.epochs=30")
    own = parse_config({**config_data(config), "model": written(tmp_path, FEATURES, "user_file")})
    assert not look(own)


def test_values_that_no_line_fits(tmp_path: Path) -> None:
    columns = honest()
    bent = {**columns, "y": columns["a"] ** 2 - columns["b"] ** 2}
    for y, hidden, told in ((bent["y"], "[]", True), (bent["y"], "[32]", False), (SCORE, "[]", False)):
        few = ("loop.epochs=20", "model.kind=mlp", f"model.hidden={hidden}")
        found = look(table_config(tmp_path, {**columns, "y": y}, "y", *few))
        assert ("model.narrow" in found) is told


GATED = """import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.score, self.hidden, self.last = nn.Linear(features, 1), nn.Linear(features, 32), nn.Linear(32, outputs)

    def forward(self, x):
        WAY


def build(features: int, outputs: int):
    return Gated(features, outputs)
"""


@pytest.mark.parametrize(
    ("way", "found"),
    [
        ("return self.last(torch.relu(self.hidden(x)) * torch.sigmoid(self.score(x)))", False),
        ("return self.last(torch.relu(self.score(x)).expand(-1, 32))", True),
    ],
)
def test_a_layer_of_one_unit_that_only_weighs_is_none_too_few(tmp_path: Path, way: str, found: bool) -> None:
    config = vectors(tmp_path)
    own = parse_config({**config_data(config), "model": written(tmp_path, GATED.replace("WAY", way), "user_file")})
    assert ("model.narrow:score" in look(own)) == found
