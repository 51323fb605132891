"""Optimizers by configuration: fused wherever torch has that, with all their state from the start."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import torch
from torch import nn
from torch.optim.optimizer import ParamsT, StateDict

from training import catalog
from training.config.sections.optimizer import (
    Adafactor,
    Adagrad,
    AdamSection,
    Muon,
    OptimizerSection,
    Sgd,
)
from training.core.step import set_momentum
from training.errors import InputError
from training.optim import muon
from training.optim.configured_groups import parameter_groups
from training.optim.functional import DeviceAdafactor
from training.optim.fused_step import put_fused_step, remember_state
from training.optim.groups import Stages

Implementation = Literal["fused", "foreach"]

_FACTORS = ("row_var", "col_var")
"""Adafactor's, which torch makes contiguous whatever the parameter is: of filters of one pixel they have its shape."""

FUSED_DEVICES = ("cpu", "cuda", "mps", "xpu")  # where torch >= 2.7 has fused Adam, AdamW and SGD


def make_optimizer(
    model: nn.Module, config: OptimizerSection, device: torch.device, fused: bool = True, stages: Stages = ()
) -> torch.optim.Optimizer:
    """The optimizer ``config`` describes over ``model``'s trainable parameters.

    Call it after the model has its final device, dtype and memory format: moments and momentum buffers are created
    here, in the same layout, so that a first step that is skipped (see ``Guard``) leaves nothing undefined and a
    checkpoint always has the same entries. ``fused`` False asks for the foreach form even where torch has a fused
    one; the two differ in the last bits. ``stages`` are the model's, which Muon and rates by depth need. Raises InputError
    when the model has nothing to train.
    """
    groups = parameter_groups(model, config, stages)
    if not groups:
        raise InputError("The model has no trainable parameters; unfreeze some, or choose another model.")
    fused = fused and _has_fused(groups, device)
    make: Callable[[ParamsT, OptimizerSection, torch.device, bool], torch.optim.Optimizer] = catalog.resolve(
        catalog.entry("optimizer", str(type(config).model_fields["kind"].default))
    )
    leave_compiler_unloaded()
    optimizer = make(groups, config, device, fused)
    create_state(optimizer)
    if isinstance(optimizer, DeviceAdafactor):
        optimizer.move_state()
    put_fused_step(optimizer)
    return optimizer


def leave_compiler_unloaded() -> None:
    """Let optimizers be made without torch's compiler.

    torch imports it, a second's work, at the first call of each of these methods, only to tell it never to look into them
    (``torch._compile``). We compile nothing that calls them; torch looks for its answer in the attribute set here.
    """
    for name in ("add_param_group", "load_state_dict", "state_dict", "zero_grad"):
        method = inspect.unwrap(getattr(torch.optim.Optimizer, name))
        setattr(method, "__dynamo_disable", method)


def _has_fused(groups: list[dict[str, Any]], device: torch.device) -> bool:
    return device.type in FUSED_DEVICES and all(
        torch.is_floating_point(parameter) and parameter.device.type == device.type
        for group in groups
        for parameter in group["params"]
    )


def _make_adam(
    kind: type[torch.optim.Optimizer], groups: ParamsT, config: AdamSection, device: torch.device, fused: bool
) -> torch.optim.Optimizer:
    # Off the CPU the foreach form must keep its step counts on the device, or undoing a step would have to wait.
    settings: dict[str, Any] = {"capturable": not fused and device.type != "cpu"}
    return kind(groups, **_take(config, "lr betas eps weight_decay amsgrad"), **_form(fused), **settings)


make_adamw = partial(_make_adam, torch.optim.AdamW)
make_adam = partial(_make_adam, torch.optim.Adam)


def _make_foreach(
    kind: type[torch.optim.Optimizer],
    names: str,
    groups: ParamsT,
    config: OptimizerSection,
    device: torch.device,
    fused: bool,
) -> torch.optim.Optimizer:
    """Of a ``kind`` that has no fused form; on CUDA and XPU it keeps its step counts where the weights are."""
    settings: dict[str, Any] = {"capturable": device.type in ("cuda", "xpu"), "foreach": True}
    return kind(groups, **_take(config, names), **settings)


make_nadam = partial(
    _make_foreach, torch.optim.NAdam, "lr betas eps weight_decay decoupled_weight_decay momentum_decay"
)
make_radam = partial(_make_foreach, torch.optim.RAdam, "lr betas eps weight_decay decoupled_weight_decay")
make_rmsprop = partial(_make_foreach, torch.optim.RMSprop, "lr alpha eps weight_decay momentum centered")


def make_sgd(groups: ParamsT, config: Sgd, device: torch.device, fused: bool) -> torch.optim.Optimizer:
    """``torch.optim.SGD``."""
    return torch.optim.SGD(groups, **_take(config, "lr momentum nesterov weight_decay"), **_form(fused))


def make_adagrad(groups: ParamsT, config: Adagrad, device: torch.device, fused: bool) -> torch.optim.Optimizer:
    """``torch.optim.Adagrad``."""
    # Not every torch since 2.7 has this kernel on every device that has the others.
    fused = fused and torch._C._dispatch_has_kernel_for_dispatch_key("aten::_fused_adagrad_", device.type.upper())
    settings = _take(config, "lr lr_decay weight_decay initial_accumulator_value eps")
    return torch.optim.Adagrad(groups, **settings, **_form(fused))


def make_adafactor(groups: ParamsT, config: Adafactor, device: torch.device, fused: bool) -> torch.optim.Optimizer:
    """``torch.optim.Adafactor``."""
    kind = torch.optim.Adafactor if device.type == "cpu" else DeviceAdafactor
    return kind(groups, **_take(config, "lr beta2_decay d weight_decay"), eps=(config.eps1, config.eps2), foreach=True)


def make_muon(groups: list[dict[str, Any]], config: Muon, device: torch.device, fused: bool) -> torch.optim.Optimizer:
    """``training.optim.muon.Muon``: Muon's groups first, as ``parameter_groups`` names them, AdamW's after them."""
    orthogonal = _take(config, "momentum nesterov ns_steps adjust_lr_fn")
    rest = {
        "betas": config.adamw_betas,
        "eps": config.adamw_eps,
        "fused_adamw": fused,
        "capturable": device.type != "cpu",  # where its step counts lie, as for the others
    }
    return muon.Muon(
        [{**group, **(orthogonal if group["name"].startswith("Muon") else rest)} for group in groups], config.lr
    )


def _take(config: OptimizerSection, names: str) -> dict[str, Any]:
    """The settings ``names``, which torch calls alike."""
    return {name: getattr(config, name) for name in names.split()}


def _form(fused: bool) -> dict[str, Any]:
    return {"fused": True} if fused else {"foreach": True}


def create_state(optimizer: torch.optim.Optimizer) -> None:
    """Give every parameter the state torch would give it at its first step, where it has none yet.

    torch's fused SGD takes momentum buffers from uninitialized memory and, if the first step is skipped, uses that
    memory at the second. Zeros give the same bits as torch's own first step (dampening is 0).
    """
    for group in optimizer.param_groups:
        new = [parameter for parameter in group["params"] if not optimizer.state.get(parameter)]
        if isinstance(optimizer, torch.optim.SGD):
            if group["momentum"] != 0.0:
                for parameter in new:
                    optimizer.state[parameter] = {"momentum_buffer": torch.zeros_like(parameter)}
        elif new:
            _create_as_torch_does(optimizer, {**group, "params": new})
        if isinstance(optimizer, torch.optim.RMSprop) and group["momentum"] > 0.0:
            for parameter in group["params"]:
                optimizer.state[parameter].setdefault("momentum_buffer", torch.zeros_like(parameter))


def _create_as_torch_does(optimizer: torch.optim.Optimizer, group: dict[str, Any]) -> None:
    """All of torch's optimizers create state in ``_init_group(group, *lists to fill)``, for parameters with a gradient."""
    create: Any = optimizer._init_group  # type: ignore[attr-defined]
    gradients = [parameter.grad for parameter in group["params"]]
    for parameter in group["params"]:
        parameter.grad = torch.zeros_like(parameter)
    try:
        create(group, *([] for _ in range(len(inspect.signature(create).parameters) - 1)))
    finally:
        for parameter, gradient in zip(group["params"], gradients, strict=True):
            parameter.grad = gradient


def load_optimizer(optimizer: torch.optim.Optimizer, saved: StateDict) -> None:
    """Go on from ``saved``, a ``state_dict()``, in the form (fused or foreach) it was made with, to keep its last bits.

    Where this device has no fused form it goes on in foreach: ``implementation`` tells which it is. Raises ValueError
    where the parameters are grouped otherwise.
    """
    sizes = [[len(group["params"]) for group in side["param_groups"]] for side in (saved, optimizer.state_dict())]
    if sizes[0] != sizes[1]:
        raise ValueError("its optimizer groups the weights otherwise, as earlier versions did with embeddings")
    groups = []
    for before, group in zip(saved["param_groups"], optimizer.param_groups, strict=True):
        here = {name: group[name] for name in ("fused", "foreach", "capturable") if name in group}
        if isinstance(optimizer, DeviceAdafactor):
            here = {"fused": None, "foreach": True, "capturable": True}  # there is but one form of it
        elif not before.get("fused"):  # where its step counts lie is a matter of this device, not of the one that saved
            here = {name: value for name, value in here.items() if name == "capturable"}
        elif all(parameter.device.type in FUSED_DEVICES for parameter in group["params"]):
            here = {}
        groups.append({**before, **here})
    optimizer.load_state_dict({**saved, "param_groups": groups})
    for parameter, state in optimizer.state.items():
        for name, value in state.items():
            alike = torch.is_tensor(value) and value.shape == parameter.shape and name not in _FACTORS
            if alike and value.stride() != parameter.stride():
                # Fused kernels walk weights, gradients and state side by side, whatever order each lies in.
                state[name] = torch.empty_like(parameter, dtype=value.dtype).copy_(value)
    remember_state(optimizer)


def implementation(optimizer: torch.optim.Optimizer) -> Implementation:
    """Which form of torch's kernels the optimizer runs; a resume that must be exact has to keep it."""
    return "fused" if all(group.get("fused") for group in optimizer.param_groups) else "foreach"


def cycle_momentum(optimizer: torch.optim.Optimizer, momentum: float) -> None:
    """Set the momentum of the next step; where it switches on what SGD or RMSprop did without, make the state for it."""
    starts = any(group.get("momentum") == 0.0 for group in optimizer.param_groups)
    set_momentum(optimizer, momentum)
    if starts and momentum:
        create_state(optimizer)
