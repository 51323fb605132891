"""Buffers that a forward pass changes, kept clean of passes that went wrong.

Batch norm updates its running statistics in the forward pass, so skipping the optimizer's step does not undo a batch of
infinities: one such batch would leave NaN in them for good.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

LARGE = 4096
"""Elements from which on it pays to find out that a buffer never changes (a mask, a table of positions)."""

PROOF_STEPS = 16
"""Good steps a large buffer must come through unchanged before its content is no longer looked at."""


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


@dataclass
class _Large:
    """A large buffer, its copy, and what is known of its changing."""

    buffer: Tensor
    copy: Tensor
    version: int  # torch's count of changes in place; some kernels (batch norm's) and ``.data`` do not count
    unchanged: int = 0  # good steps in a row that left its content alone


class HostBuffers:
    """The same where looking at a result costs nothing: on the processor.

    A large buffer whose content stood still for ``PROOF_STEPS`` steps is believed to be constant as long as torch counts
    no change of it, so that a table of positions costs nothing.
    """

    def __init__(self, buffers: Iterable[Tensor]) -> None:
        buffers = [buffer.detach() for buffer in buffers]  # detached tensors share the content and the count of changes
        self._small = [buffer for buffer in buffers if buffer.numel() < LARGE]
        self._large = [_Large(buffer, buffer, 0) for buffer in buffers if buffer.numel() >= LARGE]
        self.remember()

    def remember(self) -> None:
        """Take the buffers as they are now for good (at the start, and after weights were loaded)."""
        self._copies = [buffer.clone() for buffer in self._small]
        self._large = [_Large(item.buffer, item.buffer.clone(), item.buffer._version) for item in self._large]

    def accept(self) -> None:
        """After a good step: this is how the buffers are now."""
        if self._small:
            torch._foreach_copy_(self._copies, self._small)
        for item in self._large:
            if item.unchanged >= PROOF_STEPS and item.buffer._version == item.version:
                continue
            if item.buffer._version == item.version and torch.equal(item.buffer, item.copy):
                item.unchanged += 1
            else:
                item.unchanged = 0
                item.version = item.buffer._version
                item.copy.copy_(item.buffer)

    def put_back(self) -> None:
        """After a bad step: the buffers are again as the last good one left them."""
        if self._small:
            torch._foreach_copy_(self._small, self._copies)
        for item in self._large:
            if item.unchanged < PROOF_STEPS or item.buffer._version != item.version:
                item.buffer.copy_(item.copy)
                item.version = item.buffer._version
