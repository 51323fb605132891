"""U-Net: an answer for each pixel, from what is near it and what is far."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.config.sections.model import UNet as UNetSettings
from training.config.sections.model_section import Norm
from training.facts import DataFacts
from training.models.networks.images import require_images
from training.models.networks.norms import make_norm


def make_unet(config: UNetSettings, facts: DataFacts, outputs: int) -> UNet:
    """(B, C, H, W) to (B, outputs, H, W), for images of any size. Raises InputError when samples are no images."""
    channels, _, _ = require_images("unet", facts.shape)
    return UNet(channels, outputs, config.depth, config.width, config.norm, config.up, config.dropout)


class UNet(nn.Module):
    """The network of Ronneberger, Fischer and Brox, "U-Net" (arXiv 1505.04597), with padded convolutions: what comes out is
    as large as what went in. ``depth`` halvings, each doubling the ``width`` channels of the first level."""

    def __init__(
        self, in_channels: int, outputs: int, depth: int, width: int, norm: Norm, up: str, dropout: float
    ) -> None:
        """``up`` is "bilinear" or "transposed"; ``dropout`` is that of the deepest level."""
        super().__init__()
        self.in_channels, self.outputs, self.depth, self.width = in_channels, outputs, depth, width
        self.norm, self.up, self.dropout = norm, up, dropout
        widths = [width * 2**level for level in range(depth + 1)]
        self.down = nn.ModuleList(
            [double_convolution(*pair, norm) for pair in zip([in_channels, *widths[:-2]], widths[:-1], strict=True)]
        )
        self.deepest = nn.Sequential(double_convolution(widths[-2], widths[-1], norm), nn.Dropout(dropout))
        self.rise = nn.ModuleList([Rise(2 * wanted, wanted, norm, up) for wanted in reversed(widths[:-1])])
        self.head = nn.Conv2d(width, outputs, 1)

    def forward(self, images: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        unit = 2**self.depth
        more_rows, more_columns = -height % unit, -width % unit
        top, left = more_rows // 2, more_columns // 2
        x = images
        if more_rows or more_columns:  # zeros are the mean: inputs are normalized
            x = functional.pad(x, (left, more_columns - left, top, more_rows - top))
        kept = []
        for level in self.down:
            x = level(x)
            kept.append(x)
            x = functional.max_pool2d(x, 2)
        x = self.deepest(x)
        for level in self.rise:
            x = level(x, kept.pop())
        answers: Tensor = self.head(x)
        return answers[..., top : top + height, left : left + width]


class Rise(nn.Module):
    """One level up: twice as high and wide, joined with what was there on the way down."""

    def __init__(self, channels: int, wanted: int, norm: Norm, up: str) -> None:
        super().__init__()
        if up == "transposed":
            self.larger: nn.Module = nn.ConvTranspose2d(channels, wanted, 2, stride=2)
        else:
            # Fewer channels first: the same numbers as afterwards but for rounding, at a quarter of the work.
            self.larger = nn.Sequential(nn.Conv2d(channels, wanted, 1), nn.Upsample(scale_factor=2, mode="bilinear"))
        self.join = double_convolution(2 * wanted, wanted, norm)

    def forward(self, x: Tensor, kept: Tensor) -> Tensor:
        joined: Tensor = self.join(torch.cat([kept, self.larger(x)], dim=1))
        return joined


def double_convolution(channels: int, wanted: int, norm: Norm) -> nn.Sequential:
    """Twice a 3 x 3 convolution, norm and ReLU."""
    layers: list[nn.Module] = []
    for each in (channels, wanted):
        layers += [nn.Conv2d(each, wanted, 3, padding=1, bias=norm == "none"), *make_norm(norm, wanted, 2), nn.ReLU()]
    return nn.Sequential(*layers)
