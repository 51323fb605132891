"""The non-finite guard: an optimizer step that does nothing when the gradients are not finite."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol

import torch
from torch import Tensor

from training.optim.buffers import DeviceBuffers, HostBuffers
from training.optim.optimizers import implementation
from training.optim.update import Update


class Guard(Protocol):
    """Performs the optimizer's steps, each one as an exact no-op when its gradient norm is not finite.

    Parameters, moments, step counts and the model's buffers are then left bit for bit as they were, as if the step had
    never been. Nothing is counted here: the norms are fetched for the record anyway, and say which steps were skipped.

    With a gradient scaler: ``scaler.unscale_(optimizer)``, measure, clip, ``guard.step(norm)``, ``scaler.update()``.
    ``scaler.step`` is not used: it waits for the device unless the optimizer is fused, and it lets through the one case
    the norm sees and the scaler does not, finite gradients whose norm overflows.
    """

    def step(self, norm: Tensor) -> Tensor | bool:
        """Step if ``norm`` (0-dim, the gradients' total 2-norm before clipping) is finite; returns whether it was, as a
        0-dim bool on the device or, on the processor, plainly."""
        ...

    def remember(self) -> None:
        """Take the model's buffers and the optimizer's state as they are now; to be called after they were loaded."""
        ...


def make_guard(optimizer: torch.optim.Optimizer, device: torch.device, buffers: Iterable[Tensor] = ()) -> Guard:
    """The guard that costs least on ``device``; ``buffers`` are ``model.buffers()``."""
    return (HostGuard if device.type == "cpu" else DeviceGuard)(optimizer, device, buffers)


class HostGuard:
    """For the processor, where the norm can be looked at: a bad step is simply not made, whatever the optimizer."""

    def __init__(self, optimizer: torch.optim.Optimizer, device: torch.device, buffers: Iterable[Tensor] = ()) -> None:
        self._update = Update(optimizer)
        self._buffers = HostBuffers(buffers)

    def step(self, norm: Tensor) -> bool:
        ok = math.isfinite(norm.item())
        if ok:
            self._update()
            self._buffers.accept()
        else:
            self._buffers.put_back()
        return ok

    def remember(self) -> None:
        self._update.remember()
        self._buffers.remember()


class DeviceGuard:
    """For devices the host must not wait for: the decision is taken and carried out there.

    * Fused optimizers read ``found_inf`` (float32, exactly 0 or 1) in their kernels.
    * The others ignore that, or refuse it. For them parameters and state are copied before the step and chosen with
      ``torch.where`` after it, which costs one more copy of both. Their state must exist before the first step
      (``create_state``) and lie on the device (``capturable``); ValueError otherwise.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, device: torch.device, buffers: Iterable[Tensor] = ()) -> None:
        self._optimizer = optimizer
        self._update = Update(optimizer)
        self._device = device
        # Kept from step to step, as CUDA graphs need.
        self._found_inf = torch.zeros((), dtype=torch.float32, device=device)
        self._before: list[Tensor] = []
        self._buffers = DeviceBuffers(buffers)

    @torch.no_grad()
    def step(self, norm: Tensor) -> Tensor:
        ok = norm < math.inf  # a norm is never negative, and NaN compares false: one kernel instead of four
        if implementation(self._optimizer) == "fused":  # asked each time: a checkpoint may have brought another form
            torch.logical_not(ok, out=self._found_inf)
            self._update(self._found_inf)
        else:
            self._step_and_choose(ok)
        self._buffers.settle(ok)
        return ok

    def remember(self) -> None:
        self._update.remember()
        self._buffers.remember()

    def _step_and_choose(self, ok: Tensor) -> None:
        before = self._touched()
        if len(self._before) != len(before):
            self._before = [torch.empty_like(tensor) for tensor in before]
        torch._foreach_copy_(self._before, before)
        self._update()
        after = self._touched()
        if len(after) != len(before):
            raise ValueError(f"{type(self._optimizer).__name__} made state in its first step; create_state comes first")
        for new, old in zip(after, self._before, strict=True):
            torch.where(ok, new, old, out=new)

    def _touched(self) -> list[Tensor]:
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
