"""A multilayer perceptron for tables: categories are embedded, numbers go in as they are or as waves besides."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from training.config.sections.data.tabular import Tabular
from training.errors import InputError
from training.facts import DataFacts
from training.models.networks.mlp import answer_items, make_hidden

_MOST_NUMBERS = 50


def make_tabular(config: Tabular, facts: DataFacts, outputs: int) -> nn.Module:
    """For vectors (B, F), or for each item of lists (B, L, F); raises InputError for batch norm over items, and for vectors that are none."""
    if facts.layout == "vector" and len(facts.shape) > 1:
        raise InputError(
            f"model.kind: tabular takes rows of numbers, but samples are {' x '.join(map(str, facts.shape))}; choose mlp, or a network of your own.",
            fix={"model.kind": "mlp"},
        )
    columns = facts.shape[-1]
    features = EmbeddedFeatures(
        facts.categories or (0,) * columns, config.embedding_size, config.frequencies, config.frequency_scale
    )
    layers: list[nn.Module] = [features]
    width = features.width
    for units in config.hidden:
        inner = make_hidden(config, width, units)
        layers += [Residual(*inner)] if config.residual and width == units else inner
        width = units
    network = nn.Sequential(*layers, nn.Linear(width, outputs))
    return answer_items(network, config.norm) if facts.layout == "list" else network


def embedding_size(codes: int) -> int:
    """How many numbers stand for one of ``codes`` categories, the unknown one included: half as many, 50 at most (Guo and
    Berkhahn, "Entity Embeddings of Categorical Variables", 2016, chose sizes of that order; the rule is fastai's first)."""
    return min(_MOST_NUMBERS, (codes + 1) // 2)


class EmbeddedFeatures(nn.Module):
    """(n, F) numbers and codes -> (n, width) numbers.

    ``categories`` has for each feature how many codes it may take, 0 for a number. An unknown category (code 0) starts as
    zeros: what no training row taught then says nothing. With ``waves`` k each number x gives besides the numbers
    cos(2 pi c x) and sin(2 pi c x) for k learned c of its own, drawn from N(0, scale) (Gorishniy, Rubachev and Babenko, "On
    Embeddings for Numerical Features in Tabular Deep Learning", NeurIPS 2022, section 3.3).
    """

    def __init__(self, categories: tuple[int, ...], size: int | None, waves: int, scale: float) -> None:
        super().__init__()
        self.categories, self.size, self.waves, self.scale = tuple(categories), size, waves, scale
        coded = [column for column, codes in enumerate(categories) if codes]
        plain = [column for column, codes in enumerate(categories) if not codes]
        self.embeddings = nn.ModuleList(
            nn.Embedding(categories[column], size or embedding_size(categories[column])) for column in coded
        )
        for embedding in self.embeddings:
            assert isinstance(embedding, nn.Embedding)
            nn.init.zeros_(embedding.weight[0].detach())
        # Not in the weights' file: they follow from the data, as the shapes do.
        self.register_buffer("coded", torch.tensor(coded, dtype=torch.int64), persistent=False)
        self.register_buffer("plain", torch.tensor(plain, dtype=torch.int64), persistent=False)
        waves = waves if plain else 0
        self.frequencies = nn.Parameter(torch.randn(len(plain), waves) * scale) if waves else None
        embedded = sum(embedding.weight.shape[1] for embedding in self.embeddings)  # type: ignore[index, misc]
        self.width = int(embedded) + len(plain) * (1 + 2 * waves)

    coded: Tensor
    plain: Tensor

    def forward(self, features: Tensor) -> Tensor:
        numbers = features.index_select(1, self.plain)
        parts = [numbers]
        if self.frequencies is not None:
            angles = 2 * math.pi * numbers.unsqueeze(2) * self.frequencies
            parts += [angles.cos().flatten(1), angles.sin().flatten(1)]
        codes = features.index_select(1, self.coded).long()
        parts += [embedding(codes[:, place]) for place, embedding in enumerate(self.embeddings)]
        return torch.cat(parts, dim=1)


class Residual(nn.Module):
    """What ``layers`` make of the input, added to it."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, features: Tensor) -> Tensor:
        added: Tensor = self.layers(features)
        return features + added
