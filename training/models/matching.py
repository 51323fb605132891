"""Weights put into a network that is theirs but for its head and perhaps its first layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from training.errors import InputError, list_first
from training.models import transfer
from training.models.networks.stages import stages
from training.models.zoo.weights import Weights
from training.system.untrusted import escape_unprintable

_SHOWN = 6
_LEAST = 0.5
"""Share of the body's weights that must fit, or the file is taken for another network's."""

RENAMES: tuple[Callable[[str], str], ...] = (
    str,
    transfer.rename_densenet,
    transfer.rename_into_backbone,
    transfer.rename_features,
    transfer.rename_out_of_model,
)
"""How names of files become those of networks; the first changes nothing."""

Adapt = Callable[[Tensor, int], Tensor]


@dataclass(frozen=True)
class Taken:
    """Names of ``model.state_dict()``: what was taken, what of that was changed to fit, and how, what stays fresh; and how many
    tensors the network had no use for. ``rename`` made the file's names into these."""

    taken: tuple[str, ...]
    adapted: Mapping[str, Adapt]
    fresh: tuple[str, ...]
    unused: int
    rename: Callable[[str], str]

    def sentence(self, source: str) -> str:
        """``120 of 122 tensors taken from resnet18-f37072fd.pth; fresh: fc.weight, fc.bias.``"""
        parts = [f"{len(self.taken)} of {len(self.taken) + len(self.fresh)} tensors taken from {source}"]
        if self.adapted:
            parts.append(f"adapted: {_list_names(self.adapted)}")
        if self.fresh:
            parts.append(f"randomly initialized: {_list_names(self.fresh)}")
        if self.unused:
            parts.append(f"{self.unused} in the file have no place here")
        return "; ".join(parts) + "."


def match_weights(model: nn.Module, weights: Weights, fresh_head: bool) -> Taken:
    """Copy into ``model`` what fits of ``weights``; ``fresh_head`` leaves the last layer as it is in any case.

    A tensor fits by name and shape. A first convolution for other channels gets its filters over them
    (``adapt_channels``), positions of another image size are interpolated; a head for other classes stays fresh. Raises
    InputError when most of the network would stay fresh, a layer inside it does not fit, or not all values are finite.
    """
    own = model.state_dict()
    head = head_names(model)
    rename = _best_rename(weights.tensors, own)
    there = {rename(name): tensor for name, tensor in weights.tensors.items()}
    taken, fresh = [], []
    adapted: dict[str, Adapt] = {}
    for name, tensor in own.items():
        found = there.get(name)
        if found is None or (name in head and (fresh_head or found.shape != tensor.shape)):
            fresh.append(name)
            continue
        if found.shape != tensor.shape:
            adapted[name] = _adapter(weights, name, found, tensor)
        taken.append(name)
    transfer.load_matching(model, there, fresh, adapted)
    for name in taken:
        if not bool(own[name].isfinite().all()):
            raise InputError(
                f"model.weights: {weights.name} is of a network that fell apart: {escape_unprintable(name, 100)} holds values that are "
                "not finite (NaN or infinite); choose an earlier checkpoint, or another file."
            )
    body = [name for name in own if name not in head]
    _refuse_strangers(weights, own, body, taken)
    return Taken(tuple(taken), adapted, tuple(fresh), sum(name not in own for name in there), rename)


def head_names(model: nn.Module) -> set[str]:
    """What answers for the classes: the tensors of the last stage."""
    cut = stages(model)
    return set(cut[-1]) if cut else set()


def _refuse_strangers(weights: Weights, own: Mapping[str, Tensor], body: list[str], taken: list[str]) -> None:
    size = sum(own[name].numel() for name in body)
    fitting = sum(own[name].numel() for name in set(taken) & set(body))
    if body and fitting < _LEAST * size:
        example = escape_unprintable(next(iter(weights.tensors)), 60)
        raise InputError(
            f"model.weights: {weights.name} is of another network: {len(set(taken) & set(body))} of {len(body)} tensors fit (it "
            f"has {example}, this network {escape_unprintable(body[0], 60)}); choose the network it was made for."
        )


def _best_rename(tensors: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> Callable[[str], str]:
    """What makes the names of ``tensors`` suit the network best."""

    def fitting(rename: Callable[[str], str]) -> int:
        return sum(tensor.numel() for name, tensor in tensors.items() if rename(name) in own)

    return max(RENAMES, key=fitting)  # the first of equals


def _adapter(weights: Weights, name: str, found: Tensor, wanted: Tensor) -> Adapt:
    """What brings ``found`` into the shape of ``wanted``. Raises InputError where that would be nonsense."""
    there, here = found.shape, wanted.shape
    others = there[:1] + there[2:] == here[:1] + here[2:]  # all sides but the second
    if others and len(there) == 4 and there[1] == 3:
        return transfer.adapt_channels
    if others and len(there) == 3 and name.endswith("pos_embedding") and _is_square(there[1]) and _is_square(here[1]):
        return transfer.interpolate_positions
    raise InputError(
        f"model.weights: {weights.name} does not fit this network: {escape_unprintable(name, 100)} is {tuple(there)} there and "
        f"{tuple(here)} here; choose the network it was made for."
    )


def _is_square(places: int) -> bool:
    """Whether positions are those of a class token and of patches that make a square."""
    return places > 0 and math.isqrt(places - 1) ** 2 == places - 1


def _list_names(names: Iterable[str]) -> str:
    shown = [escape_unprintable(name, 80) for name in names]
    return list_first(shown[:_SHOWN], len(shown))
