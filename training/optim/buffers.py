"""Buffers that a forward pass changes, kept clean of passes that went wrong.

Batch norm updates its running statistics in the forward pass, so skipping the optimizer's step does not undo a batch of
infinities: one such batch would leave NaN in them for good.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


class DeviceBuffers:
    """Copies of buffers as the last good step left them, on their device and without waiting for it.

    Buffers of one dtype are handled as one flat tensor, because a kernel per buffer would cost more than the step.
    """

    def __init__(self, buffers: Iterable[Tensor]) -> None:
        by_dtype: dict[torch.dtype, list[Tensor]] = {}
        for buffer in buffers:
            by_dtype.setdefault(buffer.dtype, []).append(buffer)
        self._groups = list(by_dtype.values())
        self.remember()

    @torch.no_grad()
    def remember(self) -> None:
        """Take the buffers as they are now for good (at the start, and after weights were loaded)."""
        self._kept = [_flat(group) for group in self._groups]
        self._views = [
            [part.view(buffer.shape) for part, buffer in zip(kept.split(_sizes(group)), group, strict=True)]
            for kept, group in zip(self._kept, self._groups, strict=True)
        ]

    @torch.no_grad()
    def settle(self, ok: Tensor) -> None:
        """After a step: keep the buffers if ``ok`` (0-dim bool on their device), else put back the kept ones."""
        for group, kept, views in zip(self._groups, self._kept, self._views, strict=True):
            torch.where(ok, _flat(group), kept, out=kept)
            torch._foreach_copy_(group, views)


def _sizes(tensors: list[Tensor]) -> list[int]:
    return [tensor.numel() for tensor in tensors]


def _flat(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
