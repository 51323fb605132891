"""Which layer of a network refuses what it is given, and what it would take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd

from training.errors import pluralize
from training.system.untrusted import escape_unprintable

Entered = list[tuple[str, nn.Module, Any]]


@contextmanager
def track_layers(model: nn.Module) -> Iterator[Entered]:
    """The layers that are at work, outermost first, each with its name and first input; after a fault those that did not end."""
    entered: Entered = []

    def enter(name: str, layer: nn.Module, inputs: Any) -> None:
        entered.append((name, layer, inputs[0] if inputs else None))

    def leave(*_: Any) -> None:
        entered.pop()

    handles = []
    for name, layer in model.named_modules():
        if not isinstance(layer, torch.jit.ScriptModule):  # which takes no hooks
            handles += [layer.register_forward_pre_hook(partial(enter, name)), layer.register_forward_hook(leave)]
    try:
        yield entered
    finally:
        for handle in handles:
            handle.remove()


def explain_refusal(entered: Entered, fault: str) -> str:
    """Why the innermost layer refused its input: by the numbers where they are known, else by torch's own ``fault``."""
    name, layer, given = entered[-1]
    which = (
        f"its layer {escape_unprintable(name, 100)} ({type(layer).__name__})" if name else f"the {type(layer).__name__}"
    )
    if not isinstance(given, Tensor):
        return f"{which}: {fault}"
    gets = f"a tensor of {' x '.join(map(str, given.shape)) or 'a single number'}"
    wanted, axis, what = _find_expected(layer)
    if wanted and given.dim() > max(axis, 0) and given.shape[axis] != wanted:
        return f"{which} expects {pluralize(wanted, what)}, but gets {given.shape[axis]} ({gets})"
    return f"{which}, which gets {gets}: {fault}"


def _find_expected(layer: nn.Module) -> tuple[int, int, str]:
    """How many ``layer`` wants, along which axis, of what; 0 where that is not known."""
    if isinstance(layer, nn.Linear):
        return layer.in_features, -1, "number"
    if isinstance(layer, _ConvNd):
        return layer.in_channels, 1, "channel"
    if isinstance(layer, _BatchNorm):
        return layer.num_features, 1, "channel"
    return 0, 0, ""
