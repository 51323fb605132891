"""The norms of our own networks, and what ``check`` says about batch norm."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.training.known_facts import sample_facts
from tests.training.tiny import tiny
from training.config.describe import describe
from training.config.run import alternatives
from training.config.sections.model import Mlp, SmallCnn
from training.config.sections.model_section import ModelSection, Norm
from training.config.sections.pretrained import NamedWeights
from training.config.sections.user_file import UserFile
from training.doctor import preflight
from training.engine.runs.run import start_run
from training.errors import InputError
from training.events import Finding
from training.models import make_model
from training.models.networks.norms import make_norm

KINDS: tuple[Norm, ...] = ("batch", "group", "layer")


def by_hand(values: Tensor, over: tuple[int, ...]) -> Tensor:
    """Zero mean and unit variance over some axes, in float64."""
    exact = values.double()
    spread = (exact.var(over, unbiased=False, keepdim=True) + 1e-5).sqrt()
    return ((exact - exact.mean(over, keepdim=True)) / spread).float()


def test_of_images() -> None:
    images = torch.randn(4, 48, 5, 6) * 3 + 1
    outcome = {kind: make_norm(kind, 48, sides=2)[0](images) for kind in KINDS}
    torch.testing.assert_close(outcome["batch"], by_hand(images, (0, 2, 3)))
    torch.testing.assert_close(outcome["layer"], by_hand(images, (1, 2, 3)))
    grouped = by_hand(images.view(4, 6, 8, 5, 6), (2, 3, 4))
    torch.testing.assert_close(outcome["group"], grouped.view(4, 48, 5, 6))


def test_of_features() -> None:
    values = torch.randn(8, 34) * 3 + 1  # two groups of 17: the most of 8 or more that divide it
    outcome = {kind: make_norm(kind, 34, sides=0)[0](values) for kind in KINDS}
    torch.testing.assert_close(outcome["batch"], by_hand(values, (0,)))
    torch.testing.assert_close(outcome["layer"], by_hand(values, (1,)))
    torch.testing.assert_close(outcome["group"], by_hand(values.view(8, 2, 17), (2,)).view(8, 34))
    assert make_norm("none", 7, sides=0) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("config", [SmallCnn(channels=(4, 6)), Mlp(hidden=(8, 6))], ids=lambda config: config.kind)
def test_in_networks(config: SmallCnn | Mlp, kind: Norm) -> None:
    facts = sample_facts((3, 8, 8))
    model = make_model(config.model_copy(update={"norm": kind}), facts, 5, seed=0)
    kinds = [type(module) for module in model.modules() if "Norm" in type(module).__name__]
    plain = isinstance(config, Mlp)
    wanted = {
        "batch": nn.BatchNorm1d if plain else nn.BatchNorm2d,
        "group": nn.GroupNorm,
        "layer": nn.LayerNorm if plain else nn.GroupNorm,
    }
    assert kinds == [wanted[kind]] * 2
    alone, together = model(torch.ones(2, 3, 8, 8))[:1], model(torch.arange(384.0).view(2, 3, 8, 8))[:1]
    assert alone.shape == together.shape == (1, 5)


def warnings(*overrides: str, workspace: Path) -> list[Finding]:
    return [item for item in preflight(tiny(*overrides), workspace) if "Batch norm" in item.title]


@pytest.mark.slow
def test_accumulation_is_warned_of_with_a_change_that_helps(tmp_path: Path) -> None:
    overrides = ("model.norm=batch", "loop.batch_size=16", "loop.accumulation=4")
    [found] = warnings(*overrides, workspace=tmp_path)
    assert found.level == "warning"
    assert "sees 16 samples at a time, not the 64 of a step" in found.title
    assert found.fix == {"model.norm": "group"}
    assert warnings(*overrides, *(f"{path}={value}" for path, value in found.fix.items()), workspace=tmp_path) == []
    [few] = warnings("model.norm=batch", "loop.batch_size=4", workspace=tmp_path)
    assert "from 4 samples" in few.title
    assert warnings("model.norm=batch", workspace=tmp_path) == []


def test_every_network_of_ours_offers_another_norm_than_batch_norm() -> None:
    """Those for text are normalized token by token: batch norm would look at the tokens to be predicted."""
    for kind, section in alternatives("model").items():
        assert issubclass(section, ModelSection)
        ours = not issubclass(section, NamedWeights | UserFile)
        choices = {spec.name: spec.choices for spec in describe(section)}.get("norm", ())
        assert not ours or kind == "gpt" or set(choices) == {"none", *KINDS}, kind


def test_single_samples_are_refused_where_batch_norm_cannot_take_them(tmp_path: Path) -> None:
    single = ("loop.batch_size=1", "dataset.samples=60", "loop.max_steps=2", "precision.device=cpu")
    with pytest.raises(InputError, match=r"loop\.batch_size: the batch norm of this network cannot take batches of a"):
        start_run(tiny("model.norm=batch", *single), tmp_path)
    assert start_run(tiny("model.norm=layer", *single), tmp_path).status == "completed"
    [found] = preflight(tiny("model.norm=batch", *single), tmp_path)
    assert found.fix == {"loop.batch_size": 8}
