"""The guard: a step whose gradient is not finite is not made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor


def step_if_finite(step: Callable[[], object], norm: Tensor) -> bool:
    """Call ``step`` if the gradient ``norm`` (0-dim, before clipping) is finite, else it would spoil the weights for good."""
    if finite := math.isfinite(norm):
        step()
    return finite


class FiniteGuard:
    """``step_if_finite``; where it is not, the forward pass has spoiled batch norm's statistics: puts all ``buffers`` back."""

    def __init__(self, buffers: Iterable[Tensor]) -> None:
        self.buffers = list(buffers)
        self.kept = [buffer.detach().clone() for buffer in self.buffers]

    @torch.no_grad()
    def __call__(self, step: Callable[[], object], norm: Tensor) -> bool:
        finite = step_if_finite(step, norm)
        for buffer, kept in zip(self.buffers, self.kept, strict=True):
            kept.copy_(buffer) if finite else buffer.copy_(kept)
        return finite
