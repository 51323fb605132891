"""A convolutional network whose first layer whitens patches, as airbench has it.

Keller Jordan, "94% on CIFAR-10 in 3.29 Seconds on a Single GPU", arXiv 2404.00498, after David Page's and tysam-code's
networks. Plain layers of torch only, so that every export can describe it.
"""

from __future__ import annotations

from torch import nn

from training.config.sections.model import WhitenedCnn
from training.config.sections.model_section import Norm
from training.facts import DataFacts
from training.models.networks.images import require_images
from training.models.networks.norms import make_norm
from training.models.networks.whitening import prepare_whitening

_SMALLEST_SIDE = 9  # a patch takes one pixel, then three halvings must leave one
_PATCH = 2
_BATCHNORM_MOMENTUM = 0.4


def make_whitened_cnn(config: WhitenedCnn, facts: DataFacts, outputs: int) -> nn.Sequential:
    """A 2x2 convolution that ``whiten`` fills, three blocks of two 3x3 convolutions, the largest value of each channel, logits.

    Convolutions begin as the identity as far as they can, norms have a bias and no scale, logits are divided by 9.
    Images must be at least 9 x 9; raises InputError otherwise.
    """
    channels, height, width = require_images("whitened_cnn", facts.shape, _SMALLEST_SIDE)
    patches = nn.Conv2d(channels, 2 * channels * _PATCH**2, _PATCH)
    layers: list[nn.Module] = [patches, nn.GELU()]
    before = patches.out_channels
    for after in config.channels:
        layers += [_convolution(before, after, config.norm), nn.MaxPool2d(2), *_norm(config.norm, after), nn.GELU()]
        layers += [_convolution(after, after, config.norm), *_norm(config.norm, after), nn.GELU()]
        before = after
    sides = ((height - 1) // 8, (width - 1) // 8)
    # An average over 3 x 3 values, eight of them padding, divides by 9: torch has no layer that multiplies by a number.
    layers += [nn.MaxPool2d(sides), nn.AvgPool2d(3, padding=1)]
    return prepare_whitening(nn.Sequential(*layers, nn.Flatten(), nn.Linear(before, outputs, bias=False)))


def _convolution(before: int, after: int, norm: Norm) -> nn.Conv2d:
    return nn.Conv2d(before, after, 3, padding=1, bias=norm == "none")  # else the norm behind it has one


def _norm(kind: Norm, channels: int) -> list[nn.Module]:
    layers = make_norm(kind, channels, 2)
    for layer in layers:
        if isinstance(layer, nn.BatchNorm2d):
            layer.momentum = _BATCHNORM_MOMENTUM
    return layers
