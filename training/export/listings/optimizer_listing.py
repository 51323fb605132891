"""The optimizer of a run's script: how it is made, what a step sets in it, how gradients are clipped before it, and which parts of the
network it leaves as they were."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from training.config import RunConfig
from training.config.sections.optimizer import Adafactor, Muon, OptimizerSection, RMSprop, Sgd
from training.config.sections.schedule import OneCycle
from training.export.bundle import ExportBundle
from training.export.literals import Setting, setting
from training.models.networks.stages import stages
from training.optim import make_optimizer
from training.optim.configured_groups import frozen_names, make_freezing
from training.optim.optimizers import implementation

_LISTED = '[{**group, "params": [model.get_parameter(name) for name in group["params"]]} for group in GROUPS]'
_ALL = '[{{"params": [each for each in model.parameters() if each.requires_grad], "weight_decay": {}}}]'
_SETTINGS = ("params", "name", "lr", "weight_decay", "lr_scale")  # of every group


def describe_optimizer(bundle: ExportBundle) -> dict[str, Any]:
    """What the templates ask for. ``listed`` are the groups by names where no short rule says them: by shape, or that there is one."""
    config = bundle.config
    section = config.optimizer
    depth = stages(bundle.model)
    make_freezing(bundle.model, section, depth)  # an optimizer leaves out what will never be trained
    optimizer = make_optimizer(bundle.model, section, torch.device("cpu"), stages=depth)
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
        "listed": [] if alike or grouped else _listed(bundle, groups),
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


def _listed(bundle: ExportBundle, groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = {id(parameter): name for name, parameter in bundle.model.named_parameters()}
    scaled = any("lr_scale" in group for group in groups)
    muons = isinstance(bundle.config.optimizer, Muon)
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


def describe_averaging(bundle: ExportBundle) -> dict[str, Any]:
    """How weights are averaged."""
    loop = bundle.config.loop
    swa = loop.swa_start is not None
    norms = any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in bundle.model.modules())
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


def describe_freezing(bundle: ExportBundle) -> dict[str, Any]:
    """For the templates: ``frozen`` are the beginnings of the names of what is frozen; ``unfreezes`` says that it is so for
    some epochs only."""
    section = bundle.config.optimizer
    frozen = tuple(_beginnings(bundle.model, frozen_names(section, stages(bundle.model))))
    unfreezes = section.unfreeze_epoch is not None
    settings: list[Setting] = [("What keeps the weights it began with: names that begin so.", "FROZEN", frozen)]
    settings += [setting(section, "unfreeze_epoch")] * unfreezes
    return {
        "frozen": frozen,
        "freezing_settings": settings if frozen else [],
        "unfreezes": unfreezes,
        "unfreeze_epoch": "UNFREEZE_EPOCH" if unfreezes else "None",
    }


def _beginnings(module: nn.Module, names: set[str], place: str = "") -> Iterator[str]:
    """As few as say which parameters of ``module``, which is called ``place``, are among ``names``."""
    inside = {f"{place}{name}" for name, _ in module.named_parameters()}
    if inside and inside <= names and place:
        yield place
        return
    yield from (f"{place}{name}" for name, _ in module.named_parameters(recurse=False) if f"{place}{name}" in names)
    for name, child in module.named_children():
        yield from _beginnings(child, names, f"{place}{name}.")


def frozen_alike(bundle: ExportBundle, script: dict[str, Any], model: nn.Module, ours: nn.Module) -> bool:
    """Whether the script freezes what the engine does, of fresh models in training mode, epoch by epoch; both are then as a run
    begins, but that nothing is frozen for some epochs only."""
    section = bundle.config.optimizer
    if section.freeze == "off":
        return "Freezing" not in script
    names = [name for name, _ in model.named_parameters() if name.startswith(script["FROZEN"])]
    theirs = script["Freezing"](model.train(), names, script.get("UNFREEZE_EPOCH"))
    both = theirs, make_freezing(ours.train(), section, stages(ours))
    last = section.unfreeze_epoch or 0
    for epoch in (max(0, last - 1), last):
        for freezing in both:
            freezing.follow(epoch)
        if _state(model) != _state(ours):
            return False
    return True


def _state(model: nn.Module) -> list[tuple[str, bool]]:
    parameters = [(name, parameter.requires_grad) for name, parameter in model.named_parameters()]
    return parameters + [(name, module.training) for name, module in model.named_modules()]
