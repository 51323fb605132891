"""Activation checkpointing: less memory, more time. Blocks keep their input alone and compute the rest again going back.

Tianqi Chen et al., "Training Deep Nets with Sublinear Memory Cost", arXiv 1604.06174, by ``torch.utils.checkpoint``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


def checkpoint_activations(model: nn.Module) -> int:
    """Let the blocks of ``model`` compute their activations again in the backward pass; returns how many there are.

    Blocks are the parts that follow each other: those in lists of modules and in the network itself. Of plain layers in a
    row, about as many as the root of their number go together. Names of parameters and the bits of all results stay what
    they are: dropout draws the same numbers again, and batch norm counts a batch once.
    """
    wrapped = 0
    for module in _find_blocks(model):
        # The instance's own forward, not a module around it: the state dict must not change.
        if type(module) is not nn.Sequential:
            module.forward = _checkpoint_forward(module, module.forward)
            wrapped += 1
        elif len(groups := _group_layers(module)) > 1:
            # The last group needs no second pass, its turn comes at once.
            parts: list[Callable[[Any], Any]] = [
                *(_checkpoint_forward(group, group) for group in groups[:-1]),
                groups[-1],
            ]
            module.forward = _run_in_turn(parts)  # type: ignore[method-assign]
            wrapped += len(groups) - 1
    return wrapped


def _find_blocks(model: nn.Module) -> Iterator[nn.Module]:
    """The blocks, and each ``nn.Sequential`` of plain layers that holds none."""
    large = sum(parameter.numel() for parameter in model.parameters()) / 2
    seen: set[int] = set()

    def walk(module: nn.Module, whole: bool) -> Iterator[nn.Module]:
        if id(module) in seen:
            return
        seen.add(id(module))
        nested = any(True for child in module.children() for _ in child.children())
        plain = type(module) is nn.Sequential
        size = sum(parameter.numel() for parameter in module.parameters())
        if plain and not nested:
            yield module
        elif whole or type(module) in _CONTAINERS or (nested and size > large):
            for child in module.children():
                if any(True for _ in child.children()):
                    yield from walk(child, False)
        elif size:
            yield module

    return walk(model, True)


def _group_layers(row: nn.Sequential) -> list[nn.Sequential]:
    """Each group begins with a layer that has weights: others may change their input in place, which is needed again."""
    starts = [place for place, layer in enumerate(row) if any(True for _ in layer.parameters())]
    step = max(1, round(math.sqrt(len(starts))))
    return [row[first:last] for first, last in pairwise([0, *starts[step::step], len(row)])]


def _run_in_turn(parts: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def forward(inputs: Any) -> Any:
        for part in parts:
            inputs = part(inputs)
        return inputs

    return forward


def _checkpoint_forward(module: nn.Module, forward: Callable[..., Any]) -> Callable[..., Any]:
    norms = [norm for norm in module.modules() if isinstance(norm, _BatchNorm)]

    def run(*arguments: Any, **named: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*arguments, **named)
        return checkpoint(
            forward,
            *arguments,
            use_reentrant=False,
            context_fn=lambda: (nullcontext(), _set_statistics_aside(norms)),
            **named,
        )

    return run


@contextmanager
def _set_statistics_aside(norms: list[_BatchNorm]) -> Iterator[None]:
    """Batch norms change copies of their running statistics: the first pass has taken this batch in already."""
    kept = [(norm._buffers, dict(norm._buffers)) for norm in norms]
    for buffers, before in kept:
        buffers.update({name: None if buffer is None else buffer.clone() for name, buffer in before.items()})
    try:
        yield
    finally:
        for buffers, before in kept:
            buffers.update(before)
