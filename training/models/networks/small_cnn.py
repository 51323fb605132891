"""A small convolutional network for small images."""

from __future__ import annotations

from torch import nn

from training.config.sections.model import SmallCnn
from training.facts import DataFacts
from training.models.networks.images import require_images
from training.models.networks.norms import make_norm

SMALLEST_SIDE = 4  # two halvings must leave a pixel


def make_small_cnn(config: SmallCnn, facts: DataFacts, outputs: int) -> nn.Sequential:
    """Two blocks of 3x3 convolution, norm, ReLU and 2x2 max-pooling, a linear layer with ReLU, and the logits.

    Images must be at least 4 x 4; raises InputError otherwise.
    """
    channels, height, width = require_images("small_cnn", facts.shape, SMALLEST_SIDE)
    first, second = config.channels
    layers: list[nn.Module] = [
        # Pool before ReLU: both orders give the same values and the same gradients, because ReLU never changes which
        # element is largest except among negatives, which end as zero either way. This one has a quarter of the ReLUs.
        *(nn.Conv2d(channels, first, 3, padding=1), *make_norm(config.norm, first, 2), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Conv2d(first, second, 3, padding=1), *make_norm(config.norm, second, 2), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(second * (height // 4) * (width // 4), config.hidden), nn.ReLU()),
    ]
    if config.dropout:
        layers.append(nn.Dropout(config.dropout))
    return nn.Sequential(*layers, nn.Linear(config.hidden, outputs))
