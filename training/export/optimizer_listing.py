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
from training.optim import make_optimizer
from training.optim.configured_groups import make_freezing
from training.optim.optimizers import implementation

_LISTED = '[{**group, "params": [model.get_parameter(name) for name in group["params"]]} for group in GROUPS]'
_ALL = '[{{"params": [each for each in model.parameters() if each.requires_grad], "weight_decay": {}}}]'
_SETTINGS = ("params", "name", "lr", "weight_decay", "lr_scale")  # of every group


def describe_optimizer(material: Material) -> dict[str, Any]:
    """What the templates ask for. ``listed`` are the groups by names where no short rule says them: by shape, or that there is one."""
    config = material.config
    section = config.optimizer
    depth = stages(material.model)
    make_freezing(material.model, section, depth)  # an optimizer leaves out what will never be trained
    optimizer = make_optimizer(material.model, section, torch.device("cpu"), stages=depth)
    groups = optimizer.param_groups
    simple = not isinstance(section, Muon) and not any("lr_scale" in group for group in groups)
    alike = simple and len({group["weight_decay"] for group in groups}) == 1
    grouped = (
        simple
        and not alike
        and all(
            (parameter.ndim > 1) == (group["weight_decay"] > 0.0) for group in groups for parameter in group["params"]
        )
    )
    words = "matrices and filters with weight decay, biases and the scales of norms without"
    if not grouped:
        words = "all parameters" if alike else "groups of parameters, each with its settings"
    return {
        "optimizer": "SGD" if isinstance(section, Sgd) else type(section).__name__,
        "optimizer_place": "" if isinstance(section, Muon) else "torch.optim.",
        "optimizer_settings": _arguments(config, optimizer),
        "grouped": grouped,
        "listed": [] if alike or grouped else _listed(material, groups),
        "groups": _ALL.format(groups[0]["weight_decay"]) if alike else _LISTED,
        "groups_words": words,
        "rate": "MAX_LR" if isinstance(config.schedule, OneCycle) else "LR",
        "momentum": _cycled(config),
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
    return "".join(f", {name}={text}" for name, text in texts.items())


def _listed(material: Material, groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = {id(parameter): name for name, parameter in material.model.named_parameters()}
    scaled = any("lr_scale" in group for group in groups)
    muons = isinstance(material.config.optimizer, Muon)
    return [
        {
            "params": [names[id(parameter)] for parameter in group["params"]],
            "weight_decay": group["weight_decay"],
            **({"lr_scale": group.get("lr_scale", 1.0)} if scaled else {}),
            **({key: value for key, value in group.items() if key not in _SETTINGS} if muons else {}),
        }
        for group in groups
    ]


def clipping(clip_norm: float | None, clip_value: float | None) -> str:
    """What measures the gradient norm and clips."""
    if clip_value and clip_norm:
        return "partial(clip_value_and_norm, max_value=CLIP_VALUE, max_norm=CLIP_NORM)"
    if clip_value:
        return "partial(clip_value, max_value=CLIP_VALUE)"
    return f"partial(nn.utils.clip_grad_norm_, max_norm={'CLIP_NORM' if clip_norm else 'math.inf'})"


def describe_averaging(material: Material) -> dict[str, Any]:
    """How weights are averaged."""
    loop = material.config.loop
    swa = loop.swa_start is not None
    norms = any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in material.model.modules())
    every = "SWA_EVERY_STEPS" if loop.swa_every_steps else "steps_per_epoch"
    ema = loop.ema_decay is not None
    updates = 'torch.tensor(progress["averages"], device=device)'
    return {
        "averages": ema or swa,
        "share": f"ema_share({updates}, EMA_DECAY)" if ema else f"swa_share({updates})",
        "judged": "averaged" if ema else 'averaged if progress["averages"] else model' if swa else "model",
        "swa": swa,
        "swa_every": every,
        "measured": swa and norms,
        "swa_lr": swa and loop.swa_lr is not None,
    }
