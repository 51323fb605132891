"""A step whose batches are cut into slots: what the slots of all processes come to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from training.data import MicroBatches
from training.engine.ranks.gradients import GradientSum, put_back
from training.engine.ranks.group import ALONE, FINE, Ranks
from training.engine.shortage import describe_memory


class SharedStep:
    """Stands beside ``core.step.train_step``, which goes through this process's slots.

    The gradient is the sum over all slots, since each loss is a share of the mean over the whole step. Batch norm's running statistics
    become the mean of what each slot makes of those before the step, by its samples: the same in every number of processes.
    """

    def __init__(self, model: nn.Module, parameters: Sequence[nn.Parameter], all_buffers: bool) -> None:
        """``all_buffers``: a person's own network may change any buffer, others do so in their normalization alone."""
        self._parameters = list(parameters)
        self._ranks: Ranks = ALONE
        self._gradients = GradientSum(self._parameters, self._ranks)
        self._buffers = find_buffers(model, all_buffers)
        self._is_due: Callable[[], bool] = lambda: False
        self.due = False
        """Whether rank 0 had waited long enough, when the last step was made, to look at what a person asks for."""
        self.total = torch.zeros(())
        """The loss of the last step, the mean over all samples."""
        self._joined = False

    def join(self, ranks: Ranks, is_due: Callable[[], bool]) -> None:
        """From here on all ``ranks`` make each step together. ``is_due`` says, of the first of them, when it is time to look at requests."""
        self._ranks, self._is_due = ranks, is_due
        self._gradients = GradientSum(self._parameters, ranks)

    def begin(self, window: MicroBatches, loss: Callable[..., Tensor], batches: Iterable[Any]) -> tuple[Any, Any]:
        """``loss`` and ``batches`` for the step, which are summed up over all processes once the last batch was worked off."""
        first = self._parameters[0]
        self.total = torch.zeros((), dtype=torch.promote_types(first.dtype, torch.float32), device=first.device)
        self._joined = False
        self._gradients.begin()

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
            self._agree(self._ranks.tell_trouble(error, shortage))

    def _run(self, window: MicroBatches, batches: Iterable[Any]) -> Iterator[Any]:
        before = [buffer.clone() for buffer in self._buffers]
        changes = [torch.zeros_like(buffer, dtype=_format_change(buffer)) for buffer in self._buffers]
        sizes: dict[int, int] = {}
        for piece in window.pieces:
            sizes[piece.slot] = sizes.get(piece.slot, 0) + piece.end - piece.first
        left = len(window.pieces)
        for number, batch in enumerate(batches):
            left -= 1
            if not left:
                self._gradients.begin_last_pass()
            yield batch
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
        is_other, has_changed, self.due = self._meet(
            self._gradients.finish(), self._gradients.has_changed, not self._ranks.rank and self._is_due()
        )
        window.used_up = True  # from here on nobody can begin it again alone
        if is_other:
            self._gradients.cut_again()
        if has_changed:
            self._gradients.send_again()
        self._gradients.put()
        parts = [self.total.reshape(1), *(change.reshape(-1) for change in changes)]
        exact = any(part.dtype == torch.float64 for part in parts)
        sums = torch.cat([part.to(torch.float64 if exact else torch.float32) for part in parts])
        self._ranks.add(sums)
        self.total = sums[0].to(self.total.dtype)
        put_back(sums[1:], changes)

    def _meet(self, *values: bool) -> tuple[bool, ...]:
        """Wait for all ranks; returns whether each of ``values`` is so in any of them. Raises what ended one before it came here."""
        self._joined = True
        began = time.perf_counter()
        state, *found = self._agree(FINE, *values)
        self._ranks.waited += time.perf_counter() - began
        self._ranks.refuse_state(state)
        return tuple(map(bool, found))

    def _agree(self, state: int, *values: bool) -> list[int]:
        """How it is with the worst of all ranks, and which of up to three ``values`` are so in any."""
        told = [*values, False, False, False][:3]
        state, sent, *found = self._ranks.agree(state, self._gradients.sent, *told)
        self._gradients.expect(sent)
        return [state, *found]


def find_buffers(model: nn.Module, all_buffers: bool) -> list[Tensor]:
    """Those of ``model`` that a forward pass in training changes, as far as they are numbers that have a mean."""
    modules = (module for module in model.modules() if all_buffers or getattr(module, "track_running_stats", False))
    found = {id(buffer): buffer for module in modules for buffer in module.buffers(recurse=False)}
    return [each for each in found.values() if each.numel() and not each.is_complex() and each.dtype != torch.bool]


def _format_change(buffer: Tensor) -> torch.dtype:
    return torch.float64 if buffer.dtype == torch.float64 else torch.float32
