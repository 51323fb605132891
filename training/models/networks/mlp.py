"""A multilayer perceptron."""

from __future__ import annotations

import math

from torch import Tensor, nn

from training.config.sections.data.tabular import Tabular
from training.config.sections.model import Mlp
from training.config.sections.model_section import Norm
from training.errors import InputError
from training.facts import DataFacts
from training.models.networks.norms import make_norm

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU, "tanh": nn.Tanh}


class EachItem(nn.Module):
    """(B, L, F) -> (B, L, outputs) by a network that makes (n, outputs) of (n, F)."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, items: Tensor) -> Tensor:
        queries, length, _ = items.shape
        answers: Tensor = self.network(items.flatten(0, 1))
        return answers.view(queries, length, -1)


def make_mlp(config: Mlp, facts: DataFacts, outputs: int) -> nn.Module:
    """Linear layers of ``config.hidden`` units; samples of any shape are flattened first, the items of a list are answered
    one by one. Raises InputError for features that are codes, and for batch norm over items."""
    if any(facts.categories):
        names = [name for name, codes in zip(facts.columns, facts.categories, strict=True) if codes]
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        raise InputError(
            f"model.kind: mlp takes numbers only, but {shown} {'holds' if len(names) == 1 else 'hold'} categories; choose "
            "tabular, or leave them out.",
            fix={"model.kind": "tabular"},
        )
    items = facts.layout == "list"
    layers: list[nn.Module] = [nn.Flatten()]
    width = facts.shape[-1] if items else math.prod(facts.shape)
    for units in config.hidden:
        layers += make_hidden(config, width, units)
        width = units
    network = nn.Sequential(*layers, nn.Linear(width, outputs))
    return answer_items(network, config.norm) if items else network


def make_hidden(config: Mlp | Tabular, width: int, units: int) -> list[nn.Module]:
    """The layers that make ``units`` numbers of ``width``."""
    dropout = [nn.Dropout(config.dropout)] if config.dropout else []
    return [nn.Linear(width, units), *make_norm(config.norm, units, 0), ACTIVATIONS[config.activation](), *dropout]


def answer_items(network: nn.Module, norm: Norm) -> EachItem:
    """``network`` for the items of a list one by one. Raises InputError where batch norm would take its mean over the places
    that fill up short lists."""
    if norm == "batch":
        raise InputError(
            "model.norm: batch would take in the places that fill up short queries; choose layer.",
            fix={"model.norm": "layer"},
        )
    return EachItem(network)
