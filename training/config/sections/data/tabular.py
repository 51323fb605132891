"""``[model]`` for tables."""

from __future__ import annotations

from typing import Literal

from training.config.fields import advanced
from training.config.sections.model_section import Activation, Dropout, HiddenLayers, ModelSection, Normalization


class Tabular(ModelSection):
    """An MLP with an embedding for each category: the choice for tables."""

    takes = ("vector", "list")

    kind: Literal["tabular"] = "tabular"
    hidden: HiddenLayers = (256, 256)
    activation: Activation = "relu"
    dropout: Dropout = 0.0
    norm: Normalization = "none"
    residual: bool = advanced(
        False,
        "Residual connections",
        "Add a layer's input to its output wherever both have one width: for many layers.",
    )
    embedding_size: int | None = advanced(
        None,
        "Embedding dim",
        "Numbers that represent a category (Embedding: embedding_dim). Empty: half as many as there are categories, 50 at most.",
        placeholder="automatic",
        ge=1,
        le=1024,
    )
    frequencies: int = advanced(
        0,
        "Periodic embedding frequencies",
        "Show each number to the network as sine waves of so many learned frequencies, too: helps where a target changes "
        "abruptly. 0: the number alone.",
        ge=0,
        le=1024,
    )
    frequency_scale: float = advanced(
        0.5,
        "Frequency init std",
        "Standard deviation of the initial frequencies (sigma), in waves over a standard deviation of the numbers.",
        also="frequency scale",
        gt=0.0,
        le=100.0,
    )
