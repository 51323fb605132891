"""A step whose batches are cut into slots: what the slots of all processes come to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from training.data import MicroBatches
from training.engine.ranks.group import ALONE, FINE, Ranks
from training.engine.shortage import describe_memory

BUCKET_BYTES = 25 << 20
"""Gradients that are summed up in one go, as torch's DistributedDataParallel has them. The buckets are cut in the order of the
parameters and never again, unlike its own, so that a resumed run adds up in the same order."""


class SharedStep:
    """Stands beside ``core.step.train_step``, which goes through this process's slots.

    The gradient is the sum over all slots, since each loss is a share of the mean over the whole step. Batch norm's running statistics
    become the mean of what each slot makes of those before the step, by its samples: the same in every number of processes.
    """

    def __init__(self, model: nn.Module, parameters: Sequence[nn.Parameter], all_buffers: bool) -> None:
        """``all_buffers``: a person's own network may change any buffer, others do so in their normalization alone."""
        self._parameters = list(parameters)
        self._ranks: Ranks = ALONE
        self._buffers = find_buffers(model, all_buffers)
        self._trained: tuple[bool, ...] = ()  # which parameters have a gradient, in any rank
        self._is_due: Callable[[], bool] = lambda: False
        self.due = False
        """Whether rank 0 had waited long enough, when the last step was made, to look at what a person asks for."""
        self.total = torch.zeros(())
        """The loss of the last step, the mean over all samples."""
        self._joined = False

    def join(self, ranks: Ranks, is_due: Callable[[], bool]) -> None:
        """From here on all ``ranks`` make each step together. ``is_due`` says, of the first of them, when it is time to look at requests."""
        self._ranks, self._is_due = ranks, is_due

    def begin(self, window: MicroBatches, loss: Callable[..., Tensor], batches: Iterable[Any]) -> tuple[Any, Any]:
        """``loss`` and ``batches`` for the step, which are summed up over all processes once the last batch was worked off."""
        first = self._parameters[0]
        self.total = torch.zeros((), dtype=torch.promote_types(first.dtype, torch.float32), device=first.device)
        self._joined = False

        def note(*given: Any) -> Tensor:
            part = loss(*given)
            self.total = self.total + part.detach()
            return part

        return note, self._run(window, batches)

    def weigh(self, weight: int | Tensor) -> int | Tensor:
        """The weight of all slots of a step, of that of this process's."""
        if self._ranks.count == 1:
            return weight
        self._meet()  # one that cannot read its samples does not come this far
        self._joined = False
        told = torch.as_tensor(weight, dtype=torch.float32, device=self._parameters[0].device).clone()
        size, sides = self._ranks.agree(told.numel(), told.ndim)  # one that has no samples of the step knows neither
        told = told.expand(size).clone() if sides else told
        self._ranks.add(told)
        return told

    def fail(self, error: Exception) -> None:
        """Tell the others, who wait at the end of the step, that this process does not get there."""
        if not self._joined and self._ranks.count > 1:
            self._joined = True
            shortage = describe_memory(error, self._parameters[0].device)
            state = self._ranks.tell_trouble(error, shortage)
            self._ranks.any_of(True, False, False)
            self._ranks.agree(state)

    def _run(self, window: MicroBatches, batches: Iterable[Any]) -> Iterator[Any]:
        before = [buffer.clone() for buffer in self._buffers]
        changes = [torch.zeros_like(buffer, dtype=_format_change(buffer)) for buffer in self._buffers]
        sizes: dict[int, int] = {}
        for piece in window.pieces:
            sizes[piece.slot] = sizes.get(piece.slot, 0) + piece.end - piece.first
        left = len(window.pieces)
        for number, batch in enumerate(batches):
            yield batch
            left -= 1
            slot = window.pieces[number].slot
            if self._buffers and (not left or window.pieces[number + 1].slot != slot):
                self._take_buffers(before, changes, sizes[slot] / window.samples)
        window.used_up = False  # another rank may ask for the same window again
        self._join(window, before, changes)

    @torch.no_grad()
    def _take_buffers(self, before: list[Tensor], changes: list[Tensor], share: float) -> None:
        """Add what a slot changed, and put back what the next one begins with."""
        for buffer, old, change in zip(self._buffers, before, changes, strict=True):
            # What stays as it is adds nothing, also where it is infinite, as in a mask.
            moved = torch.where(buffer == old, torch.zeros_like(buffer), buffer - old)
            change.add_(moved, alpha=share)
        torch._foreach_copy_(self._buffers, before)

    @torch.no_grad()
    def _join(self, window: MicroBatches, before: list[Tensor], changes: list[Tensor]) -> None:
        if self._ranks.count > 1:
            self._join_gradients(window, changes)
        window.used_up = True
        for buffer, old, change in zip(self._buffers, before, changes, strict=True):
            buffer.copy_(old + change if buffer.is_floating_point() else old + change.round().to(buffer.dtype))

    def _join_gradients(self, window: MicroBatches, changes: list[Tensor]) -> None:
        ranks = self._ranks
        trained = tuple(parameter.grad is not None for parameter in self._parameters)
        other, self.due = self._meet(trained != self._trained, not ranks.rank and self._is_due())
        window.used_up = True  # from here on nobody can begin it again alone
        if other:
            self._trained = tuple(map(bool, ranks.agree(*trained)))
        parts = [self.total.reshape(1), *(change.reshape(-1) for change in changes)]
        exact = any(part.dtype == torch.float64 for part in parts)
        sums = torch.cat([part.to(torch.float64 if exact else torch.float32) for part in parts])
        for bucket in self._buckets(sums):
            flat = torch.cat([tensor.reshape(-1) for tensor in bucket])
            ranks.add(flat)
            _put(flat, bucket)
        self.total = sums[0].to(self.total.dtype)
        _put(sums[1:], changes)

    def _meet(self, other: bool = False, due: bool = False) -> tuple[bool, bool]:
        """Wait for all ranks; returns whether ``other`` and ``due`` are so in any of them. Raises what ended one before it came here."""
        self._joined = True
        began = time.perf_counter()
        trouble, any_other, any_due = self._ranks.any_of(False, other, due)
        self._ranks.waited += time.perf_counter() - began
        if trouble:
            self._ranks.refuse_state(*self._ranks.agree(FINE))
        return any_other, any_due

    def _buckets(self, last: Tensor) -> Iterator[list[Tensor]]:
        """The gradients that are summed up together, and ``last``; a parameter that only another process used has one of zeros."""
        bucket: list[Tensor] = []
        size = 0
        for tensor in chain(self._gradients(), [last]):
            if bucket and (size >= BUCKET_BYTES or tensor.dtype != bucket[0].dtype):
                yield bucket
                bucket, size = [], 0
            bucket.append(tensor)
            size += tensor.nbytes
        yield bucket

    def _gradients(self) -> Iterator[Tensor]:
        for parameter, trained in zip(self._parameters, self._trained, strict=True):
            if trained:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                yield parameter.grad


def find_buffers(model: nn.Module, all_buffers: bool) -> list[Tensor]:
    """Those of ``model`` that a forward pass in training changes, as far as they are numbers that have a mean."""
    modules = (module for module in model.modules() if all_buffers or getattr(module, "track_running_stats", False))
    found = {id(buffer): buffer for module in modules for buffer in module.buffers(recurse=False)}
    return [each for each in found.values() if each.numel() and not each.is_complex() and each.dtype != torch.bool]


def _format_change(buffer: Tensor) -> torch.dtype:
    return torch.float64 if buffer.dtype == torch.float64 else torch.float32


def _put(flat: Tensor, tensors: list[Tensor]) -> None:
    parts = flat.split([tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view(tensor.shape))
