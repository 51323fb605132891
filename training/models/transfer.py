"""Weights by name put into a network that has most of those names; an exported script carries the code below as it is."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

WRAPPERS = ("state_dict", "model_state_dict", "model", "net")
"""Under which name training scripts put the weights among other things."""
PREFIXES = ("module.", "_orig_mod.")
"""What torch's wrappers (data parallel, compile) put before each name."""
DENSENET_NAME = r"^(.*denselayer\d+\.(?:norm|relu|conv))\.([12]\.(?:weight|bias|running_mean|running_var))$"


@torch.no_grad()
def load_matching(
    model: nn.Module,
    tensors: Mapping[str, Tensor],
    fresh: Collection[str],
    adapt: Mapping[str, Callable[[Tensor, int], Tensor]],
) -> None:
    """Copy ``tensors`` into ``model``, which has their names, but for ``fresh``. ``adapt`` has, by the name, what makes a tensor
    fit whose second side is another."""
    for name, own in model.state_dict().items():
        if name not in fresh:
            own.copy_(adapt[name](tensors[name], own.shape[1]) if name in adapt else tensors[name])


def unwrap(state: Any) -> dict[str, Tensor]:
    """The tensors by name in what a training script saved."""
    for name in WRAPPERS:
        if isinstance(state, Mapping) and isinstance(state.get(name), Mapping):
            state = state[name]
    items = state.items() if isinstance(state, Mapping) else ()
    tensors = {name: value for name, value in items if isinstance(name, str) and isinstance(value, Tensor)}
    for prefix in PREFIXES:
        if all(name.startswith(prefix) for name in tensors):
            tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    return tensors


def rename_densenet(name: str) -> str:
    """From torchvision's files of 2017."""
    return re.sub(DENSENET_NAME, r"\1\2", name)


def rename_into_backbone(name: str) -> str:
    """From a classifier to the body of a segmentation network."""
    return f"backbone.{name}"


def rename_features(name: str) -> str:
    """From a classifier that calls its body "features" to the body of a segmentation network."""
    return re.sub(r"^features\.", "backbone.", name)


def rename_out_of_model(name: str) -> str:
    """From what holds the network as a part."""
    return re.sub(r"^(model|network|backbone|encoder)\.", "", name)


def adapt_channels(filters: Tensor, channels: int) -> Tensor:
    """Filters (out, 3, h, w) over RGB as filters over ``channels``, as timm has it: their sum for gray images; else
    repeated in turn, and scaled so that answers stay as large."""
    if channels == 1:
        return filters.sum(1, keepdim=True)
    repeats = math.ceil(channels / 3)
    return filters.repeat(1, repeats, 1, 1)[:, :channels] * (3 / channels)


def interpolate_positions(positions: Tensor, places: int) -> Tensor:
    """Learned positions (1, 1 + n*n, width) of a vision transformer for another square number of patches, bicubically; the
    first one, of the class token, stays."""
    before, after = math.isqrt(positions.shape[1] - 1), math.isqrt(places - 1)
    grid = positions[:, 1:].transpose(1, 2).unflatten(2, (before, before))
    larger = functional.interpolate(grid, (after, after), mode="bicubic", align_corners=True)
    return torch.cat([positions[:, :1], larger.flatten(2).transpose(1, 2)], 1)
