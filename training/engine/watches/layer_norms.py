"""Norms of gradient, weights and update of each layer, at every n-th step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from training.engine.watches.watch import Given
from training.runs.records.columns import Columns
from training.runs.records.layers import MOST_LAYERS, layer_columns


def record_seconds(model: nn.Module) -> float:
    """What a record takes a CPU core, which reads or writes each weight 8 times."""
    tensors, weights = len(list(model.parameters())), sum(parameter.numel() for parameter in model.parameters())
    return 1e-4 + 5e-6 * tensors + 8 * 0.3e-9 * weights


class LayerNorms:
    """2-norms of a layer's parameters together: of their gradients before clipping, in true size, summed up over the
    micro-batches; of the weights before the step; and of what the step changed of them, 0 where it was left out or the layer is
    frozen. The weights are copied for that between the backward pass and the end of the step, when there are no activations."""

    file = "layers.bin"

    def __init__(self, model: nn.Module, every: int) -> None:
        named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.is_floating_point()]
        self.every = every
        self._parameters = [parameter for _, parameter in named]
        layers = group_layers([name for name, _ in named])
        self.columns: Columns = layer_columns(tuple(layers))
        self._order = [place for members in layers.values() for place in members]
        self._starts = np.cumsum([0, *(len(members) for members in layers.values())][:-1])
        self._zero = torch.zeros(())
        self._gradients: list[Tensor] = []
        self._found: Tensor | None = None

    def find_next(self, step: int) -> int:
        """As ``Watch`` says."""
        return step + -step % self.every if step > 1 else 1

    def wrap(self, step: int, given: Given) -> Given:
        """As ``Watch`` says."""
        self._found = None
        if self.find_next(step) > step:
            return given
        return given._replace(clip=partial(self._clip, given.clip), guard=partial(self._guard, given.guard))

    def take(self) -> Tensor | None:
        """As ``Watch`` says: of each parameter first the gradient's, then the weight's, then the update's."""
        found, self._found = self._found, None
        return found

    def fold(self, values: NDArray[np.float32]) -> NDArray[Any]:
        """As ``Watch`` says: what is of one layer together."""
        squares = np.square(values.astype(np.float64)).reshape(len(values), 3, -1)
        sums = np.add.reduceat(squares[:, :, self._order], self._starts, axis=2)
        return np.sqrt(sums).reshape(len(values), -1)

    @torch.no_grad()
    def _clip(self, clip: Callable[..., Tensor], parameters: Iterable[nn.Parameter]) -> Tensor:
        self._gradients = self._norms([parameter.grad for parameter in self._parameters])
        return clip(parameters)

    @torch.no_grad()
    def _guard(self, guard: Callable[..., Any], step: Callable[[], object], norm: Tensor) -> Any:
        moving = [parameter.detach() for parameter in self._parameters if parameter.grad is not None]
        before = [parameter.clone() for parameter in moving]
        weights = self._norms(self._parameters)
        stepped = guard(step, norm)
        torch._foreach_sub_(before, moving)
        changes = iter(before)
        updates = self._norms([None if each.grad is None else next(changes) for each in self._parameters])
        self._found = torch.stack([*self._gradients, *weights, *updates])
        return stepped

    def _norms(self, tensors: Sequence[Tensor | None]) -> list[Tensor]:
        """In float32, 0-dim each; 0 of what is not there."""
        there = [tensor for tensor in tensors if tensor is not None]
        if not there:
            return [self._zero] * len(tensors)
        norms = iter(norm.float() for norm in torch._foreach_norm(there))
        self._zero = self._zero.to(there[0].device)
        return [self._zero if tensor is None else next(norms) for tensor in tensors]


def group_layers(names: Sequence[str], most: int = MOST_LAYERS) -> dict[str, list[int]]:
    """The places of the parameters ``names`` by the module they belong to, in order; by the modules around those, and at last
    by neighbors, where there are more than ``most``."""
    paths = [name.split(".") for name in names]
    for depth in range(max((len(path) for path in paths), default=1), 0, -1):
        groups: dict[str, list[int]] = {}
        for place, path in enumerate(paths):
            module = path[:-1] or path  # a parameter that the network itself holds
            groups.setdefault(".".join(module[:depth]), []).append(place)
        if len(groups) <= most:
            return groups
    size = math.ceil(len(groups) / most)
    found = list(groups.items())
    merged = [found[first : first + size] for first in range(0, len(found), size)]
    return {
        " to ".join(dict.fromkeys((some[0][0], some[-1][0]))): [place for _, places in some for place in places]
        for some in merged
    }
