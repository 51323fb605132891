"""How the whitening network of Keller Jordan begins to train; an exported script carries the code below as it is."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

WHITENED_IMAGES = 5000
"""How many training images whitening looks at."""

SMALLEST_VARIANCE = 5e-4


def prepare_whitening(model: nn.Sequential) -> nn.Sequential:
    """``model``, whose first convolution ``whiten`` will fill: its other ones begin as the identity, as far as they can, and
    norms have a bias and no scale."""
    first, *convolutions = (layer for layer in model if isinstance(layer, nn.Conv2d))
    first.weight.requires_grad_(False)
    nn.init.zeros_(first.bias)  # type: ignore[arg-type]
    for layer in convolutions:
        nn.init.dirac_(layer.weight[: min(layer.in_channels, layer.out_channels)])
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
    for norm in model:
        if isinstance(norm, nn.BatchNorm2d | nn.GroupNorm):
            norm.weight.requires_grad_(False)
    return model


@torch.no_grad()
def whiten(model: nn.Module, images: Iterable[Tensor]) -> None:
    """Fill the first layer, a convolution: its outputs for patches of ``images`` are uncorrelated, of one size.

    ``images`` are float32 (n, C, H, W) as the model takes them, some at a time: for one of these tensors it needs sixteen
    times its memory, for each value comes into four patches as float64, twice. Filters are the eigenvectors of the
    patches' second moments over the root of their eigenvalues, the largest first, and then the same with the other sign,
    because what comes next cuts off one.
    """
    layer = next(model.children())
    assert isinstance(layer, nn.Conv2d)
    moments = torch.zeros(2 * (layer.weight[0].numel(),), dtype=torch.float64)
    patches = 0
    for some in images:
        columns = functional.unfold(some.double(), layer.kernel_size).transpose(0, 1).flatten(1)
        moments += columns @ columns.T
        patches += columns.shape[1]
    values, vectors = torch.linalg.eigh(moments / patches)
    filters = (vectors / (values.clamp(min=0.0) + SMALLEST_VARIANCE).sqrt()).T.flip(0)
    layer.weight.copy_(torch.cat([filters, -filters]).view(layer.weight.shape))
