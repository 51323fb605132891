"""The non-finite guard: an optimizer step that does nothing when the gradients are not finite."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import torch
from torch import Tensor

from training.core.guard import FiniteGuard
from training.optim.buffers import DeviceBuffers
from training.optim.optimizers import implementation


class Guard(Protocol):
    """Makes the optimizer's step, which is an exact no-op where the gradient norm is not finite.

    Parameters, moments, step counts and the model's buffers are then left bit for bit as they were, as if the step had
    never been. Nothing is counted here: the norms are fetched for the record anyway, and say which steps were skipped.

    ``scaler.step`` is not used: it waits for the device unless the optimizer is fused, and it lets through the one case
    the norm sees and the scaler does not, finite gradients whose norm overflows.
    """

    def __call__(self, step: Callable[[], object], norm: Tensor) -> Tensor | bool:
        """Make the optimizer's ``step`` if ``norm`` (0-dim, the gradients' total 2-norm before clipping) is finite; return
        whether it was, on the CPU plainly, else as a 0-dim bool on the device."""
        ...

    def remember(self) -> None:
        """Take the model's buffers as they are now; to be called after they were loaded."""
        ...


def make_guard(optimizer: torch.optim.Optimizer, device: torch.device, buffers: Iterable[Tensor] = ()) -> Guard:
    """The guard that costs least on ``device``; ``buffers`` are ``model.buffers()``.

    An optimizer that keeps numbers on the host can only be undone there: core's guard waits for the norm of each step then.
    """
    states = [value for state in optimizer.state.values() for value in state.values() if torch.is_tensor(value)]
    on_host = any(value.device.type != device.type for value in states)
    return HostGuard(buffers) if device.type == "cpu" or on_host else DeviceGuard(optimizer, device, buffers)


class HostGuard(FiniteGuard):
    """Core's guard in an engine that loads weights after it was made."""

    @torch.no_grad()
    def remember(self) -> None:
        """Take the buffers as they are now: to be called after weights were loaded."""
        for buffer, kept in zip(self.buffers, self.kept, strict=True):
            kept.copy_(buffer)


class DeviceGuard:
    """For devices the host must not wait for: the decision is taken and carried out there.

    * Fused optimizers read ``found_inf`` (float32, exactly 0 or 1) in their kernels.
    * The others ignore that, or refuse it. For them parameters and state are copied before the step and chosen with
      ``torch.where`` after it, which costs one more copy of both. Their state must exist before the first step
      (``create_state``) and lie on the device (``capturable``); ValueError otherwise.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, device: torch.device, buffers: Iterable[Tensor] = ()) -> None:
        self._optimizer: Any = optimizer
        self._device = device
        # Kept from step to step, as CUDA graphs need.
        self._found_inf = torch.zeros((), dtype=torch.float32, device=device)
        self._before: list[Tensor] = []
        self._buffers = DeviceBuffers(buffers)

    @torch.no_grad()
    def __call__(self, step: Callable[[], object], norm: Tensor) -> Tensor:
        ok = norm < math.inf  # a norm is never negative, and NaN compares false: one kernel instead of four
        if implementation(self._optimizer) == "fused":  # asked each time: a checkpoint may have brought another form
            torch.logical_not(ok, out=self._found_inf)
            self._optimizer.found_inf = self._found_inf  # where fused optimizers look for it
            try:
                step()
            finally:
                del self._optimizer.found_inf
        else:
            self._step_and_choose(step, ok)
        self._buffers.settle(ok)
        return ok

    def remember(self) -> None:
        self._buffers.remember()

    def _step_and_choose(self, step: Callable[[], object], ok: Tensor) -> None:
        before = self._collect()
        if len(self._before) != len(before):
            self._before = [torch.empty_like(tensor) for tensor in before]
        torch._foreach_copy_(self._before, before)
        step()
        after = self._collect()
        if len(after) != len(before):
            raise ValueError(f"{type(self._optimizer).__name__} made state in its first step; create_state comes first")
        for new, old in zip(after, self._before, strict=True):
            torch.where(ok, new, old, out=new)

    def _collect(self) -> list[Tensor]:
        """Every tensor a step may change: parameters and the optimizer's state."""
        tensors: list[Tensor] = []
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                tensors.append(parameter.detach())
                state = self._optimizer.state.get(parameter, {})
                for name, value in state.items():
                    if not torch.is_tensor(value) or value.device.type != self._device.type:
                        kind = type(self._optimizer).__name__
                        raise ValueError(f"the {name!r} of {kind} is not on {self._device}; use capturable=True")
                    tensors.append(value)
        return tensors
