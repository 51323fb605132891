"""The network for tables, and what others refuse of them."""

from __future__ import annotations

import math

import pytest
import torch

from training.config.sections.data.tabular import Tabular
from training.config.sections.model import Mlp
from training.errors import InputError
from training.facts import DataFacts
from training.models import make_model
from training.models.networks.tabular import EmbeddedFeatures, embedding_size

FACTS = DataFacts("vector", (4,), "class", ("no", "yes"), columns=("a", "color", "b", "size"), categories=(0, 4, 0, 3))
ROWS = torch.tensor([[0.5, 1, -2.0, 0], [1.5, 0, 0.25, 2], [-1.0, 3, 4.0, 1]])


def test_numbers_go_in_as_they_are_and_categories_as_their_embedding() -> None:
    torch.manual_seed(0)
    features = EmbeddedFeatures(FACTS.categories, None, 0, 1.0)
    made = features(ROWS)
    assert made.shape == (3, features.width) == (3, 2 + 2 + 2)
    assert torch.equal(made[:, :2], ROWS[:, [0, 2]])
    color, size = (embedding.weight for embedding in features.embeddings)
    assert torch.equal(made[:, 2:4], color[[1, 0, 3]])  # type: ignore[index]
    assert torch.equal(made[:, 4:], size[[0, 2, 1]])  # type: ignore[index]
    assert not made[1, 2:4].any()  # what is not known says nothing at first


def test_waves_have_the_papers_formula() -> None:
    torch.manual_seed(0)
    features = EmbeddedFeatures((0, 0), None, 3, 0.7)
    rows = torch.tensor([[0.3, -1.2], [2.0, 0.0]])
    made = features(rows).double()
    assert features.frequencies is not None
    angles = 2 * math.pi * rows.double().unsqueeze(2) * features.frequencies.double()
    expected = torch.cat([rows.double(), angles.cos().flatten(1), angles.sin().flatten(1)], 1)
    assert made.detach().numpy() == pytest.approx(expected.detach().numpy(), abs=2e-6)
    many = EmbeddedFeatures((0,), None, 1024, 0.7).frequencies
    assert many is not None
    assert float(many.detach().std()) == pytest.approx(0.7, rel=0.1)


@pytest.mark.parametrize(("codes", "size"), [(2, 1), (3, 2), (4, 2), (8, 4), (99, 50), (5000, 50)])
def test_the_size_of_an_embedding(codes: int, size: int) -> None:
    assert embedding_size(codes) == size
    assert EmbeddedFeatures((codes,), None, 0, 1.0).width == size
    assert EmbeddedFeatures((codes,), 7, 0, 1.0).width == 7


def test_an_item_is_answered_alike_in_whatever_list() -> None:
    facts = DataFacts("list", (3, 4), "ranks", ("grade",), columns=FACTS.columns, categories=FACTS.categories)
    for config in (Tabular(hidden=(8, 8), residual=True, norm="layer"), Tabular(frequencies=2)):
        model = make_model(config, facts, 1, seed=0).eval()
        answers = model(ROWS.view(1, 3, 4))
        assert answers.shape == (1, 3, 1)
        turned = model(ROWS.flip(0).view(1, 3, 4).expand(2, 3, 4))
        assert turned[1].flip(0).detach().numpy() == pytest.approx(answers[0].detach().numpy(), abs=1e-6)
        one = make_model(config, FACTS, 1, seed=0).eval()
        assert one(ROWS).detach().numpy() == pytest.approx(answers[0].detach().numpy(), abs=1e-6)


def test_a_plain_mlp_takes_no_codes_and_no_batch_norm_over_items() -> None:
    with pytest.raises(
        InputError, match=r"model.kind: mlp takes numbers only, but color, size hold categories"
    ) as refused:
        make_model(Mlp(), FACTS, 2, seed=0)
    assert refused.value.fix == {"model.kind": "tabular"}
    items = DataFacts("list", (3, 2), "ranks", ("grade",))
    for config in (Mlp(norm="batch"), Tabular(norm="batch")):
        with pytest.raises(InputError, match=r"model.norm: batch would take in the places .*; choose layer"):
            make_model(config, items, 1, seed=0)
