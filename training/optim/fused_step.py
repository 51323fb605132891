"""The optimizer's step without its bookkeeping: what stands behind ``optimizer.step()`` of fused Adam, AdamW and SGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.optim import optimizer as torch_optimizer

KINDS = (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD)
"""What torch has fused kernels for, which are called here; a class derived from one of them may step otherwise."""


@dataclass
class _Group:
    """One parameter group with the state of its parameters, list beside list as torch's kernels take them."""

    settings: dict[str, Any]
    parameters: list[Tensor]
    averages: list[Tensor]
    squares: list[Tensor]
    largest: list[Tensor]  # amsgrad's
    steps: list[Tensor]
    momenta: list[Tensor]  # SGD's


def put_fused_step(optimizer: torch.optim.Optimizer) -> None:
    """Let ``optimizer.step`` be a ``FusedStep``, where torch has such kernels, and ``zero_grad`` as short."""
    if type(optimizer) in KINDS:
        optimizer.step = step = FusedStep(optimizer)  # type: ignore[assignment, method-assign]
        optimizer.zero_grad = step.zero_grad  # type: ignore[method-assign]


def remember_state(optimizer: torch.optim.Optimizer) -> None:
    """After state was loaded, before anybody else keeps hold of its tensors."""
    if isinstance(optimizer.step, FusedStep):
        optimizer.step.remember()


class FusedStep:
    """Makes the optimizer's step by torch's own fused kernels, with the same bits.

    At every step torch collects parameters, gradients and state again, sorts them by device and type and reports to the
    profiler: of the 65 microseconds that AdamW took for the six tensors of a small MLP, a quarter of its whole training
    step, the kernels took 16. Here all of that is collected once, and again when weights were loaded. Whatever is not
    plain (another optimizer or form, hooks, a gradient that is missing, a rate on the device) is torch's own ``step``.
    """

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer
        self._collected_from: tuple[Any, Any] = (None, None)
        self._groups: list[_Group] = []
        self._steps: list[Tensor] = []
        self._counts: Tensor | None = None
        self.remember()

    def remember(self) -> None:
        """Collect again: after state was loaded, before anybody else keeps hold of the state's tensors."""
        self._collected_from = self._optimizer.state, self._optimizer.param_groups
        self._collect()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """torch's, without its look at hooks and its report to the profiler: 2 microseconds instead of 10 for a small MLP."""
        if not set_to_none:
            type(self._optimizer).zero_grad(self._optimizer, set_to_none)
            return
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    @torch.no_grad()
    def __call__(self) -> None:
        """Step; where the optimizer has a ``found_inf`` (0-dim float32 on the device, exactly 0 or 1), as torch's gradient
        scaler gives it one, 1 leaves all as it was."""
        gradients = self._gradients() if self._is_plain() else None
        found_inf = getattr(self._optimizer, "found_inf", None)
        if gradients is None:
            type(self._optimizer).step(self._optimizer)
        elif isinstance(self._optimizer, torch.optim.SGD):
            self._sgd(gradients, found_inf)
        else:
            self._adam(gradients, found_inf)

    def _is_plain(self) -> bool:
        optimizer = self._optimizer
        if (
            optimizer._optimizer_step_pre_hooks
            or optimizer._optimizer_step_post_hooks
            or torch_optimizer._global_optimizer_pre_hooks
            or torch_optimizer._global_optimizer_post_hooks
        ):
            return False
        loaded, groups = self._collected_from
        if optimizer.state is not loaded or optimizer.param_groups is not groups:  # load_state_dict brings new ones
            self.remember()
        if isinstance(optimizer, torch.optim.SGD) and any(map(_lacks_momenta, self._groups)):
            self._collect()  # a schedule has switched momentum on
            return bool(self._groups) and not any(map(_lacks_momenta, self._groups))
        return bool(self._groups)

    def _collect(self) -> None:
        optimizer = self._optimizer
        self._groups, self._steps, self._counts = [], [], None
        everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        one_kind = len({(parameter.device, parameter.dtype) for parameter in everything}) == 1
        if not one_kind or not all(group.get("fused") for group in optimizer.param_groups):
            return
        states = [optimizer.state.get(parameter, {}) for parameter in everything]
        if not isinstance(optimizer, torch.optim.SGD):
            if not all("step" in state for state in states):
                return
            self._steps = [state["step"] for state in states]
            if everything[0].device.type == "cpu":
                # One tensor with a place for each parameter: torch counts single ones at 1.5 microseconds each.
                self._counts = torch.stack(self._steps)
                for state, count in zip(states, self._counts.unbind(), strict=True):
                    state["step"] = count
                self._steps = [state["step"] for state in states]
        for group in optimizer.param_groups:
            some = [optimizer.state.get(parameter, {}) for parameter in group["params"]]
            names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step", "momentum_buffer")
            lists = [[state[name] for state in some if state.get(name) is not None] for name in names]
            self._groups.append(_Group(group, group["params"], *lists))

    def _gradients(self) -> list[list[Tensor]] | None:
        """Of each group; None where one is missing or of a kind that the kernels do not take."""
        found = []
        for group in self._groups:
            gradients = [parameter.grad for parameter in group.parameters]
            if type(group.settings["lr"]) is not float or any(each is None or each.is_sparse for each in gradients):
                return None
            found.append(gradients)
        return found  # type: ignore[return-value]  # none is None

    def _adam(self, gradients: list[list[Tensor]], found_inf: Tensor | None) -> None:
        if self._counts is not None:
            self._counts.add_(1)
        else:
            torch._foreach_add_(self._steps, 1)
        for group, some in zip(self._groups, gradients, strict=True):
            settings = group.settings
            kernel = torch._fused_adamw_ if settings["decoupled_weight_decay"] else torch._fused_adam_
            kernel(
                group.parameters,
                some,
                group.averages,
                group.squares,
                group.largest,
                group.steps,
                amsgrad=settings["amsgrad"],
                lr=settings["lr"],
                beta1=settings["betas"][0],
                beta2=settings["betas"][1],
                weight_decay=settings["weight_decay"],
                eps=settings["eps"],
                maximize=settings["maximize"],
                found_inf=found_inf,
            )
        if found_inf is not None:
            torch._foreach_sub_(self._steps, [found_inf] * len(self._steps))

    def _sgd(self, gradients: list[list[Tensor]], found_inf: Tensor | None) -> None:
        for group, some in zip(self._groups, gradients, strict=True):
            settings = group.settings
            torch._fused_sgd_(
                group.parameters,
                some,
                group.momenta if settings["momentum"] else [],
                weight_decay=settings["weight_decay"],
                momentum=settings["momentum"],
                lr=settings["lr"],
                dampening=settings["dampening"],
                nesterov=settings["nesterov"],
                maximize=settings["maximize"],
                is_first_step=False,
                found_inf=found_inf,
            )


def _lacks_momenta(group: _Group) -> bool:
    return bool(group.settings["momentum"]) and len(group.momenta) != len(group.parameters)
