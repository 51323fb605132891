"""``[model]``: the network."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from training.config.fields import advanced, setting
from training.config.sections.data.tabular import Tabular
from training.config.sections.data.text import Gpt
from training.config.sections.model_section import Activation, Dropout, HiddenLayers, ModelSection, Normalization
from training.config.sections.pretrained import TimmModel, TorchvisionModel, TorchvisionSegmentation
from training.config.sections.user_file import UserFile

Channels = Annotated[int, Field(ge=1, le=4096)]


class SmallCnn(ModelSection):
    """Two convolution-ReLU-pool blocks and a linear layer: enough for small images."""

    kind: Literal["small_cnn"] = "small_cnn"
    channels: tuple[Channels, Channels] = setting(
        (32, 64), "Channels", "Output channels of the first and the second convolution (out_channels).", strict=False
    )
    hidden: int = setting(
        128, "Hidden units", "Width of the linear layer before the logits.", also="linear units", ge=1, le=65536
    )
    dropout: Dropout = 0.0
    norm: Normalization = "none"


class WhitenedCnn(ModelSection):
    """Six convolutions behind a fixed layer that whitens patches, as airbench has it: learns small color images in few epochs."""

    kind: Literal["whitened_cnn"] = "whitened_cnn"
    channels: tuple[Channels, Channels, Channels] = setting(
        (64, 256, 256), "Channels", "Output channels of the first, second and third block (out_channels).", strict=False
    )
    norm: Normalization = "batch"


class Mlp(ModelSection):
    """Linear layers with an activation between them: for points, tables and tiny images."""

    takes = ("vector", "list", "image")

    kind: Literal["mlp"] = "mlp"
    hidden: HiddenLayers = (128, 128)
    activation: Activation = "relu"
    dropout: Dropout = 0.0
    norm: Normalization = "none"


class UNet(ModelSection):
    """Down to coarse features and up again, with skip connections: a class for each pixel of an image."""

    answers = ("place",)

    kind: Literal["unet"] = "unet"
    depth: int = setting(4, "Depth", "How often the image is halved; each level sees twice as far.", ge=1, le=7)
    width: int = setting(
        32, "Base channels", "Channels at full size, twice as many at each level below.", also="width", ge=1, le=1024
    )
    norm: Normalization = "batch"
    up: Literal["bilinear", "transposed"] = advanced(
        "bilinear",
        "Upsampling",
        "How a level becomes as large as the one above: by bilinear interpolation (Upsample), or by a transposed convolution, "
        "which is learned (ConvTranspose2d).",
        also="enlarging",
        labels={"transposed": "Transposed conv"},
    )
    dropout: Dropout = setting(
        0.0, help="Probability that one of the deepest features is zeroed while training (Dropout: p)."
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
