"""The optimizer of a run's script: how it is made, what a step sets in it, and how gradients are clipped before it."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn

from training.config import RunConfig
from training.config.optimizer import Adafactor, Muon, OptimizerSection, RMSprop, Sgd
from training.config.schedule import OneCycle
from training.export.material import Material
from training.models.stages import stages
from training.optim import Freezing, make_optimizer, muon
from training.optim.optimizers import implementation

_SETTINGS = ("params", "name", "lr", "weight_decay", "lr_scale")  # of every group


def describe_optimizer(material: Material) -> dict[str, Any]:
    """What the templates ask for. ``listed`` are the groups by names where no short rule says them."""
    config = material.config
    section = config.optimizer
    depth = stages(material.model)
    freezing = Freezing(material.model, section, depth)
    if freezing.lasts:
        freezing.follow(0)  # an optimizer leaves out what will never be trained
    optimizer = make_optimizer(material.model, section, torch.device("cpu"), stages=depth)
    groups = optimizer.param_groups
    simple = not isinstance(section, Muon) and not any("lr_scale" in group for group in groups)
    by_shape = all(
        (parameter.ndim > 1) == (group["weight_decay"] > 0.0) for group in groups for parameter in group["params"]
    )
    alike = len({group["weight_decay"] for group in groups}) == 1
    return {
        "optimizer": "SGD" if isinstance(section, Sgd) else type(section).__name__,
        "optimizer_place": "" if isinstance(section, Muon) else "torch.optim.",
        "optimizer_settings": _arguments(config, optimizer),
        "muon_source": _muon_source() if isinstance(section, Muon) else "",
        "fused": implementation(optimizer) == "fused",
        "filtered": any(not parameter.requires_grad for parameter in material.model.parameters()),
        "listed": [] if simple and (alike or by_shape) else _listed(material, groups),
        "grouped": simple and by_shape and not alike,
        "weight_decay": groups[0]["weight_decay"],
        "rate": "MAX_LR" if isinstance(config.schedule, OneCycle) else "LR",
        "momentum": _cycled(config),
        "step_settings": _step_settings(config, any("lr_scale" in group for group in groups)),
    }


def _cycled(config: RunConfig) -> bool:
    return isinstance(config.schedule, OneCycle) and config.schedule.cycle_momentum


def _arguments(config: RunConfig, optimizer: torch.optim.Optimizer) -> str:
    """All arguments but groups, rate and weight decay, as far as they are not torch's defaults."""
    section = config.optimizer
    if isinstance(section, Muon):
        return ""
    own = {
        name: getattr(section, name)
        for name in type(section).model_fields
        if name not in OptimizerSection.model_fields and name != "kind"
    }
    if isinstance(section, Adafactor):
        del own["eps1"], own["eps2"]
        own["eps"] = (section.eps1, section.eps2)
    defaults = {name: item.default for name, item in inspect.signature(type(optimizer)).parameters.items()}
    texts = {name: repr(value) for name, value in own.items() if value != defaults[name]}
    if isinstance(section, Sgd | RMSprop) and _cycled(config):
        texts["momentum"] = "MAX_MOMENTUM"
    texts["fused" if implementation(optimizer) == "fused" else "foreach"] = "True"
    return ", ".join(f"{name}={text}" for name, text in texts.items())


def _listed(material: Material, groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = {id(parameter): name for name, parameter in material.model.named_parameters()}
    scaled = any("lr_scale" in group for group in groups)
    muons = isinstance(material.config.optimizer, Muon)
    return [
        {
            "names": [names[id(parameter)] for parameter in group["params"]],
            "weight_decay": group["weight_decay"],
            **({"lr_scale": group.get("lr_scale", 1.0)} if scaled else {}),
            **({key: value for key, value in group.items() if key not in _SETTINGS} if muons else {}),
        }
        for group in groups
    ]


def _step_settings(config: RunConfig, scaled: bool) -> list[str]:
    """What is set in each ``group`` before a step."""
    lines = ['group["lr"] = lr * group["lr_scale"]' if scaled else 'group["lr"] = lr']
    if not _cycled(config):
        return lines
    betas, momentum = 'group["betas"] = (momentum, group["betas"][1])', 'group["momentum"] = momentum'
    if isinstance(config.optimizer, Muon):
        return [*lines, 'if "betas" in group:', f"    {betas}", "else:", f"    {momentum}"]
    return [*lines, momentum if isinstance(config.optimizer, Sgd | RMSprop) else betas]


def _muon_source() -> str:
    """The engine's own code, which uses nothing but torch."""
    return "\n\n\n".join(inspect.getsource(part).rstrip() for part in (muon.orthogonal, muon.shape_factor, muon.Muon))


def clipping(clip_norm: float | None, clip_value: float | None) -> list[str]:
    """Lines that measure the gradient norm and clip."""
    by_norm = "nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)"
    if clip_norm and not clip_value:
        return [f"norm = {by_norm}"]
    lines = ["norm = nn.utils.get_total_norm([each.grad for each in model.parameters() if each.grad is not None])"]
    if clip_value:
        lines.append("nn.utils.clip_grad_value_(model.parameters(), CLIP_VALUE)")
    return [*lines, by_norm] if clip_norm else lines


def describe_averaging(material: Material) -> dict[str, Any]:
    """How weights are averaged, and which are judged."""
    loop = material.config.loop
    swa = loop.swa_start is not None
    norms = any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in material.model.modules())
    ema = loop.ema_decay is not None
    return {
        "ema": ema,
        "swa": swa,
        "measured": swa and norms,
        "swa_lr": swa and loop.swa_lr is not None,
        "swa_every": "SWA_EVERY_STEPS" if loop.swa_every_steps else "steps_per_epoch",
        "judged": "averaged" if ema else "averaged if averaged.n_averaged else model" if swa else "model",
    }
