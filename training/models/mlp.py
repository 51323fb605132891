"""A multilayer perceptron."""

from __future__ import annotations

import math

from torch import nn

from training.config.model import Mlp
from training.facts import DataFacts
from training.models.norms import make_norm

_ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU, "tanh": nn.Tanh}


def make_mlp(config: Mlp, facts: DataFacts, outputs: int) -> nn.Sequential:
    """Linear layers of ``config.hidden`` units; samples of any shape are flattened first."""
    activation = _ACTIVATIONS[config.activation]
    layers: list[nn.Module] = [nn.Flatten()]
    width = math.prod(facts.shape)
    for units in config.hidden:
        layers += [nn.Linear(width, units), *make_norm(config.norm, units, 0), activation()]
        if config.dropout:
            layers.append(nn.Dropout(config.dropout))
        width = units
    return nn.Sequential(*layers, nn.Linear(width, outputs))
