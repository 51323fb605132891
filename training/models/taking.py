"""Weights put into a network that is theirs but for its head and perhaps its first layer."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.errors import InputError
from training.models.stages import stages
from training.models.weights import Weights
from training.reading import visible

_SHOWN = 6
_LEAST = 0.5
"""Share of the body's weights that must fit, or the file is taken for another network's."""

_DENSENET = re.compile(r"^(.*denselayer\d+\.(?:norm|relu|conv))\.([12]\.(?:weight|bias|running_mean|running_var))$")

RENAMES: tuple[Callable[[str], str], ...] = (
    lambda name: name,
    lambda name: _DENSENET.sub(r"\1\2", name),  # as torchvision's files of 2017 have them
    lambda name: f"backbone.{name}",  # a classifier's body for a segmentation network
    lambda name: re.sub(r"^features\.", "backbone.", name),
    lambda name: re.sub(r"^(model|network|backbone|encoder)\.", "", name),
)


@dataclass(frozen=True)
class Taken:
    """Names of ``model.state_dict()``: what was taken, what of that was changed to fit, what stays fresh; and how many tensors
    the network had no use for."""

    taken: tuple[str, ...]
    adapted: tuple[str, ...]
    fresh: tuple[str, ...]
    unused: int

    def sentence(self, source: str) -> str:
        """``120 of 122 tensors taken from resnet18-f37072fd.pth; fresh: fc.weight, fc.bias.``"""
        parts = [f"{len(self.taken)} of {len(self.taken) + len(self.fresh)} tensors taken from {source}"]
        if self.adapted:
            parts.append(f"adapted: {_listed(self.adapted)}")
        if self.fresh:
            parts.append(f"fresh: {_listed(self.fresh)}")
        if self.unused:
            parts.append(f"{self.unused} in the file have no place here")
        return "; ".join(parts) + "."


@torch.no_grad()
def take(model: nn.Module, weights: Weights, fresh_head: bool) -> Taken:
    """Copy into ``model`` what fits of ``weights``; ``fresh_head`` leaves the last layer as it is in any case.

    A tensor fits by name and shape. A first convolution for other channels gets its filters over them
    (``adapt_channels``), positions of another picture size are interpolated; a head for other classes stays fresh. Raises
    InputError when most of the network would stay fresh, a layer inside it does not fit, or not all values are finite.
    """
    own = model.state_dict()
    head = head_names(model)
    there = renamed(weights.tensors, own)
    taken, adapted, fresh = [], [], []
    for name, tensor in own.items():
        found = there.get(name)
        if found is None or (name in head and (fresh_head or found.shape != tensor.shape)):
            fresh.append(name)
            continue
        if found.shape != tensor.shape:
            found = _adapted(name, found, tensor)
            if found is None:
                raise InputError(
                    f"model.weights: {weights.name} does not fit this network: {visible(name, 100)} is "
                    f"{tuple(there[name].shape)} there and {tuple(tensor.shape)} here; choose the network it was made for."
                )
            adapted.append(name)
        tensor.copy_(found)
        if not bool(tensor.isfinite().all()):
            raise InputError(
                f"model.weights: {weights.name} is of a network that fell apart: {visible(name, 100)} holds values that are "
                "not finite (NaN or infinite); choose an earlier checkpoint, or another file."
            )
        taken.append(name)
    body = [name for name in own if name not in head]
    _refuse_strangers(weights, own, body, taken)
    return Taken(tuple(taken), tuple(adapted), tuple(fresh), sum(name not in own for name in there))


def head_names(model: nn.Module) -> set[str]:
    """What answers for the classes: the tensors of the last stage."""
    cut = stages(model)
    return set(cut[-1]) if cut else set()


def _refuse_strangers(weights: Weights, own: Mapping[str, Tensor], body: list[str], taken: list[str]) -> None:
    size = sum(own[name].numel() for name in body)
    fitting = sum(own[name].numel() for name in set(taken) & set(body))
    if body and fitting < _LEAST * size:
        example = visible(next(iter(weights.tensors)), 60)
        raise InputError(
            f"model.weights: {weights.name} is of another network: {len(set(taken) & set(body))} of {len(body)} tensors fit (it "
            f"has {example}, this network {visible(body[0], 60)}); choose the network it was made for."
        )


def renamed(tensors: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``tensors`` under the names that suit the network best."""

    def fitting(named: Mapping[str, Tensor]) -> int:
        return sum(tensor.numel() for name, tensor in named.items() if name in own)

    ways = ({rename(name): tensor for name, tensor in tensors.items()} for rename in RENAMES)
    return max(ways, key=fitting)  # the first of equals


def _adapted(name: str, found: Tensor, wanted: Tensor) -> Tensor | None:
    """``found`` in the shape of ``wanted``; None where that would be nonsense."""
    if (
        found.ndim == 4
        and found.shape[1] == 3
        and found.shape[:1] + found.shape[2:] == wanted.shape[:1] + wanted.shape[2:]
    ):
        return adapt_channels(found, wanted.shape[1])
    if name.endswith("pos_embedding") and found.ndim == 3 and found.shape[::2] == wanted.shape[::2]:
        return interpolate_positions(found, wanted.shape[1])
    return None


def adapt_channels(filters: Tensor, channels: int) -> Tensor:
    """Filters (out, 3, h, w) over RGB as filters over ``channels``, as timm has it: their sum for grey pictures; else
    repeated in turn, and scaled so that answers stay as large."""
    if channels == 1:
        return filters.sum(1, keepdim=True)
    repeats = math.ceil(channels / 3)
    return filters.repeat(1, repeats, 1, 1)[:, :channels] * (3 / channels)


def interpolate_positions(positions: Tensor, places: int) -> Tensor | None:
    """Learned positions (1, 1 + n*n, width) of a vision transformer for another number of patches, bicubically; the first
    one, of the class token, stays. None where the patches make no square."""
    before, after = math.isqrt(positions.shape[1] - 1), math.isqrt(places - 1)
    if before**2 != positions.shape[1] - 1 or after**2 != places - 1:
        return None
    grid = positions[:, 1:].transpose(1, 2).unflatten(2, (before, before))
    larger = functional.interpolate(grid, (after, after), mode="bicubic", align_corners=True)
    return torch.cat([positions[:, :1], larger.flatten(2).transpose(1, 2)], 1)


def _listed(names: Iterable[str]) -> str:
    shown = [visible(name, 80) for name in names]
    return ", ".join(shown[:_SHOWN]) + (f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else "")
