"""The guard: a step whose gradient is not finite is not made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor


class FiniteGuard:
    """Makes the optimizer's step where the gradient norm is finite. Else it puts the buffers back.

    One such step would spoil the weights for good. Its forward pass has spoiled batch norm's running statistics already:
    these are in the model's ``buffers``.
    """

    def __init__(self, buffers: Iterable[Tensor]) -> None:
        self.buffers = list(buffers)
        self.remember()

    def remember(self) -> None:
        """Take the buffers as they are now: to be called again after weights were loaded."""
        self.kept = [buffer.detach().clone() for buffer in self.buffers]

    @torch.no_grad()
    def __call__(self, step: Callable[[], object], norm: Tensor) -> bool:
        """Call ``step`` if ``norm`` (0-dim, that of all gradients before clipping) is finite; return whether it was."""
        finite = math.isfinite(norm)
        if finite:
            step()
        for buffer, kept in zip(self.buffers, self.kept, strict=True):
            kept.copy_(buffer) if finite else buffer.copy_(kept)
        return finite
