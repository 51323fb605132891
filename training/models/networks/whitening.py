"""How the whitening network of Keller Jordan begins to train; an exported script carries the code below as it is."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

WHITENED_IMAGES = 5000
"""How many training images whitening looks at."""


def prepare_whitening(model: nn.Sequential) -> nn.Sequential:
    """``model``, whose first convolution ``whiten`` will fill: its other ones begin as the identity, as far as they can,
    and norms have a bias and no scale."""
    first, *others = convolutions = [layer for layer in model if isinstance(layer, nn.Conv2d)]
    first.weight.requires_grad_(False)
    for bias in (layer.bias for layer in convolutions if layer.bias is not None):
        nn.init.zeros_(bias)
    for layer in others:
        nn.init.dirac_(layer.weight[: layer.in_channels])
    for norm in model:
        if isinstance(norm, nn.BatchNorm2d | nn.GroupNorm):
            norm.weight.requires_grad_(False)
    return model


@torch.no_grad()
def whiten(layer: nn.Conv2d, images: Iterable[Tensor], eps: float = 5e-4) -> None:
    """Fill the filters of ``layer``: its outputs for patches of ``images``, float32 (n, C, H, W) some at a time, are
    uncorrelated and of one size. They are the eigenvectors of the patches' second moments over the root of their
    eigenvalues, the largest first, and then the same with the other sign, because what comes next cuts off one."""
    moments, patches = torch.zeros(2 * (layer.weight[0].numel(),), dtype=torch.float64), 0
    for some in images:  # a tensor needs sixteen times its memory: each value comes into four patches as float64, twice
        columns = functional.unfold(some.double(), layer.kernel_size).transpose(0, 1).flatten(1)
        moments += columns @ columns.T
        patches += columns.shape[1]
    values, vectors = torch.linalg.eigh(moments / patches)
    filters = (vectors / (values.clamp(min=0.0) + eps).sqrt()).T.flip(0)
    layer.weight.copy_(torch.cat([filters, -filters]).view(layer.weight.shape))
