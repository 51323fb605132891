"""Activation checkpointing: less memory, more time. Blocks keep their input alone and compute the rest again going back.

Tianqi Chen et al., "Training Deep Nets with Sublinear Memory Cost", arXiv 1604.06174, by ``torch.utils.checkpoint``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


def recompute_activations(model: nn.Module) -> int:
    """Let the blocks of ``model`` compute their activations again in the backward pass; returns how many there are.

    Blocks are the parts that follow each other: those in lists of modules and in the network itself. Of plain layers in a
    row, about as many as the root of their number go together. Names of parameters and the bits of all results stay what
    they are: dropout draws the same numbers again, and batch norm counts a batch once.
    """
    wrapped = 0
    for module in _sequence(model):
        if type(module) is nn.Sequential:
            wrapped += _wrap_row(module)
        else:
            # The instance's own forward, not a module around it: the state dict must not change.
            module.forward = _again(module.forward, _norms([module]))
            wrapped += 1
    return wrapped


def _sequence(model: nn.Module) -> Iterator[nn.Module]:
    """The blocks, and each ``nn.Sequential`` of plain layers that holds none."""
    large = sum(parameter.numel() for parameter in model.parameters()) / 2
    seen: set[int] = set()

    def walk(module: nn.Module, whole: bool) -> Iterator[nn.Module]:
        if id(module) in seen:
            return
        seen.add(id(module))
        inner = [child for child in module.children() if any(True for _ in child.children())]
        plain = type(module) is nn.Sequential
        size = sum(parameter.numel() for parameter in module.parameters())
        if plain and not inner:
            yield module
        elif whole or plain or type(module) in _CONTAINERS or (inner and size > large):
            for child in inner:
                yield from walk(child, False)
        elif size:
            yield module

    return walk(model, True)


def _wrap_row(row: nn.Sequential) -> int:
    """Let the layers of ``row`` be computed again in groups; the last one needs none, its turn comes at once."""
    layers = list(row)
    groups = _groups(layers)
    if len(groups) < 2:
        return 0
    parts = [_again(_through(group), _norms(group)) for group in groups[:-1]] + [_through(groups[-1])]

    def forward(inputs: Any) -> Any:
        for part in parts:
            inputs = part(inputs)
        return inputs

    row.forward = forward  # type: ignore[method-assign]
    return len(groups) - 1


def _groups(layers: Sequence[nn.Module]) -> list[list[nn.Module]]:
    """Each begins with a layer that has weights: others may change their input in place, which is needed again."""
    starts = [place for place, layer in enumerate(layers) if any(True for _ in layer.parameters())]
    if len(starts) < 2:
        return [list(layers)]
    step = max(1, round(math.sqrt(len(starts))))
    cuts = [0, *starts[step::step], len(layers)]
    return [list(layers[first:last]) for first, last in pairwise(cuts)]


def _through(layers: Sequence[nn.Module]) -> Callable[[Any], Any]:
    def forward(inputs: Any) -> Any:
        for layer in layers:
            inputs = layer(inputs)
        return inputs

    return forward


def _norms(modules: Sequence[nn.Module]) -> list[_BatchNorm]:
    return [norm for module in modules for norm in module.modules() if isinstance(norm, _BatchNorm)]


def _again(forward: Callable[..., Any], norms: Sequence[_BatchNorm]) -> Callable[..., Any]:
    def contexts() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
        return nullcontext(), _statistics_aside(norms)

    def checkpointed(*arguments: Any, **named: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*arguments, **named)
        return checkpoint(
            forward, *arguments, use_reentrant=False, preserve_rng_state=True, context_fn=contexts, **named
        )

    return checkpointed


@contextmanager
def _statistics_aside(norms: Sequence[_BatchNorm]) -> Iterator[None]:
    """Batch norms change copies of their running statistics: the first pass has taken this batch in already."""
    kept: list[tuple[dict[str, Tensor | None], dict[str, Tensor | None]]] = []
    for norm in norms:
        buffers = norm._buffers
        kept.append((buffers, dict(buffers)))
        buffers.update({name: None if buffer is None else buffer.clone() for name, buffer in buffers.items()})
    try:
        yield
    finally:
        for buffers, before in kept:
            buffers.update(before)
