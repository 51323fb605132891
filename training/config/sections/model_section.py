"""What all sections ``[model]`` have in common."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from training.config.fields import Section, ShareBelowOne, setting
from training.facts import Layout

Norm = Literal["none", "batch", "group", "layer"]
Normalization = Annotated[
    Norm,
    setting(
        title="Normalization",
        help="After each convolution or hidden layer. BatchNorm: by the mean and std of the batch, the usual choice for images. "
        "GroupNorm and LayerNorm: by those of each sample, for small batches and gradient accumulation.",
    ),
]
Dropout = Annotated[
    ShareBelowOne,
    setting(title="Dropout", help="Probability that a hidden unit is zeroed while training (Dropout: p)."),
]
HiddenLayers = Annotated[
    tuple[Annotated[int, Field(ge=1, le=65536)], ...],
    setting(
        title="Hidden layers", help="Units of each, for example 256, 256 (out_features).", strict=False, max_length=64
    ),
]
Activation = Annotated[
    Literal["relu", "gelu", "silu", "tanh"],
    setting(title="Activation", help="The non-linear function after each hidden layer."),
]


class ModelSection(Section):
    """What is known of every network: which inputs it takes, and whether it answers for a sample as a whole or for each of
    its pixels or tokens."""

    takes: ClassVar[tuple[Layout, ...]] = ("image",)
    answers: ClassVar[tuple[Literal["sample", "place"], ...]] = ("sample",)
