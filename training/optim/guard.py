"""The non-finite guard: an optimizer step that does nothing when the gradients are not finite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from training.optim.buffers import KeptBuffers
from training.optim.optimizers import implementation


class Guard:
    """Performs the optimizer's steps, each one as an exact no-op when its gradient norm is not finite.

    Parameters, moments and step counts are then left bit for bit as they were, as if the step had never been. The host
    is never waited for: the decision is taken on the device and counted there.

    * Fused optimizers read ``optimizer.found_inf`` (float32, exactly 0 or 1) in their kernels.
    * The others ignore that, or refuse it. For them parameters and state are copied before the step and chosen with
      ``torch.where`` after it, which costs one more copy of both.

    With a gradient scaler: ``scaler.unscale_(optimizer)``, measure, clip, ``guard.step(norm)``, ``scaler.update()``.
    ``scaler.step`` is not used: it waits for the device unless the optimizer is fused, and it lets through the one case
    the norm sees and the scaler does not, finite gradients whose norm overflows.

    ``buffers`` (``model.buffers()``) are put back too when a step is skipped, see ``KeptBuffers``. ``skipped`` and
    ``in_a_row`` are int64 counts on ``device``.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, device: torch.device, buffers: Iterable[Tensor] = ()) -> None:
        self._optimizer = optimizer
        self._fused = implementation(optimizer) == "fused"
        # Kept from step to step, as CUDA graphs need and allocators like.
        self._found_inf = torch.zeros((), dtype=torch.float32, device=device)
        self._before: list[Tensor] = []
        self._buffers = KeptBuffers(buffers)
        self.skipped = torch.zeros((), dtype=torch.int64, device=device)
        self.in_a_row = torch.zeros((), dtype=torch.int64, device=device)

    @torch.no_grad()
    def step(self, norm: Tensor) -> Tensor:
        """Step if ``norm`` (0-dim, the gradients' total norm before clipping) is finite; returns that, as a 0-dim bool."""
        ok = torch.isfinite(norm)
        self._found_inf.copy_(~ok)
        if self._fused:
            self._step_fused()
        else:
            self._step_and_choose(ok)
        self._buffers.settle(ok)
        self.skipped.add_(~ok)
        self.in_a_row.add_(1).mul_(~ok)
        return ok

    def _step_fused(self) -> None:
        self._optimizer.found_inf = self._found_inf  # type: ignore[attr-defined]
        try:
            self._optimizer.step()
        finally:
            del self._optimizer.found_inf  # type: ignore[attr-defined]

    def _step_and_choose(self, ok: Tensor) -> None:
        tensors = self._touched()
        if len(self._before) != len(tensors):
            self._before = [torch.empty_like(tensor) for tensor in tensors]
        torch._foreach_copy_(self._before, tensors)
        self._optimizer.step()
        for after, before in zip(tensors, self._before, strict=True):
            after.copy_(torch.where(ok, after, before))

    def _touched(self) -> list[Tensor]:
        """Every tensor a step may change: parameters and the optimizer's state."""
        tensors: list[Tensor] = []
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                tensors.append(parameter)
                state = self._optimizer.state.get(parameter, {})
                tensors.extend(value for value in state.values() if torch.is_tensor(value))
        return tensors

    def state(self) -> dict[str, int]:
        """The counts, for a checkpoint (waits for the device)."""
        return {"skipped": int(self.skipped), "in_a_row": int(self.in_a_row)}

    def load(self, counts: Mapping[str, int]) -> None:
        """Go on from ``state()``, after the model's weights were loaded: its buffers as they are now count as good."""
        self._buffers.remember()
        self.skipped.fill_(counts["skipped"])
        self.in_a_row.fill_(counts["in_a_row"])
