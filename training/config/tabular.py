"""``[model]`` for tables."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from training.config.fields import setting
from training.config.model_section import NORM_HELP, ModelSection, Norm


class Tabular(ModelSection):
    """Linear layers behind an embedding for each category: for tables."""

    takes = ("vector", "list")

    kind: Literal["tabular"] = "tabular"
    hidden: tuple[Annotated[int, Field(ge=1, le=65536)], ...] = setting(
        (256, 256),
        title="Hidden layers",
        help="Width of each hidden layer, for example 256, 256.",
        strict=False,
        max_length=64,
    )
    activation: Literal["relu", "gelu", "silu", "tanh"] = setting(
        "relu", title="Activation", help="The non-linear function after each hidden layer."
    )
    dropout: float = setting(
        0.0, title="Dropout", help="Share of hidden units silenced at random while training.", ge=0.0, lt=1.0
    )
    norm: Norm = setting("none", title="Normalisation", help=f"After each hidden layer. {NORM_HELP}")
    residual: bool = setting(
        False,
        title="Residual",
        help="Add a hidden layer's input to its output wherever both have one width: for more than three layers.",
        advanced=True,
    )
    embedding_size: int | None = setting(
        None,
        title="Embedding size",
        help="Numbers that stand for a category. Empty: half as many as there are categories, 50 at most.",
        placeholder="automatic",
        advanced=True,
        ge=1,
        le=1024,
    )
    frequencies: int = setting(
        0,
        title="Frequencies",
        help="Show each number to the network as waves of so many learnt frequencies, too: helps where a target changes "
        "abruptly. 0: the number alone.",
        advanced=True,
        ge=0,
        le=1024,
    )
    frequency_scale: float = setting(
        0.5,
        title="Frequency scale",
        help="Spread of the frequencies at the start, in waves over a standard deviation.",
        advanced=True,
        gt=0.0,
        le=100.0,
    )
