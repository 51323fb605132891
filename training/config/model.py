"""``[model]``: the network."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from training.config.fields import setting
from training.config.model_section import NORM_HELP, ModelSection, Norm
from training.config.tabular import Tabular
from training.config.text import Gpt
from training.config.user_file import UserFile
from training.config.zoo import TimmModel, TorchvisionModel, TorchvisionSegmentation


class SmallCnn(ModelSection):
    """Two convolution-ReLU-pool blocks and a linear layer: enough for small pictures."""

    kind: Literal["small_cnn"] = "small_cnn"
    channels: tuple[Annotated[int, Field(ge=1, le=4096)], Annotated[int, Field(ge=1, le=4096)]] = setting(
        (32, 64), title="Channels", help="Output channels of the first and the second convolution.", strict=False
    )
    hidden: int = setting(
        128, title="Linear units", help="Width of the linear layer before the logits.", ge=1, le=65536
    )
    dropout: float = setting(
        0.0,
        title="Dropout",
        help="Share of the linear layer's units silenced at random while training.",
        ge=0.0,
        lt=1.0,
    )
    norm: Norm = setting("none", title="Normalisation", help=f"After each convolution. {NORM_HELP}")


class WhitenedCnn(ModelSection):
    """Six convolutions behind a fixed layer that whitens patches: learns small colour pictures in few epochs."""

    kind: Literal["whitened_cnn"] = "whitened_cnn"
    channels: tuple[
        Annotated[int, Field(ge=1, le=4096)],
        Annotated[int, Field(ge=1, le=4096)],
        Annotated[int, Field(ge=1, le=4096)],
    ] = setting(
        (64, 256, 256), title="Channels", help="Output channels of the first, second and third block.", strict=False
    )
    norm: Norm = setting("batch", title="Normalisation", help=f"After each learnt convolution. {NORM_HELP}")


class Mlp(ModelSection):
    """Linear layers with an activation between them: for points, tables and tiny pictures."""

    takes = ("vector", "list", "image")

    kind: Literal["mlp"] = "mlp"
    hidden: tuple[Annotated[int, Field(ge=1, le=65536)], ...] = setting(
        (128, 128),
        title="Hidden layers",
        help="Width of each hidden layer, for example 128, 128.",
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


class UNet(ModelSection):
    """Down to coarse features, up again, with what was seen on the way down: a class for each pixel."""

    answers = ("place",)

    kind: Literal["unet"] = "unet"
    depth: int = setting(
        4, title="Depth", help="How often the picture is halved; each level sees twice as far.", ge=1, le=7
    )
    width: int = setting(
        32,
        title="Width",
        help="Channels at full size; each level has twice those of the level above.",
        ge=1,
        le=1024,
    )
    norm: Norm = setting("batch", title="Normalisation", help=f"After each convolution. {NORM_HELP}")
    up: Literal["bilinear", "transposed"] = setting(
        "bilinear",
        title="Enlarging",
        help="How a level becomes as large as the one above: bilinear between pixels, or by a transposed convolution, "
        "which is learnt.",
        advanced=True,
    )
    dropout: float = setting(
        0.0,
        title="Dropout",
        help="Share of the deepest features silenced at random while training.",
        ge=0.0,
        lt=1.0,
    )


Model = Annotated[
    SmallCnn
    | WhitenedCnn
    | Mlp
    | Tabular
    | UNet
    | Gpt
    | TorchvisionModel
    | TorchvisionSegmentation
    | TimmModel
    | UserFile,
    Field(discriminator="kind"),
]
