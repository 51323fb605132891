"""The optimizer of a run's script: how it is made, what a step sets in it, how gradients are clipped before it, and which parts of the
network it leaves as they were."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

import torch
from torch import nn

from training.config import RunConfig
from training.config.sections.optimizer import Adafactor, Muon, OptimizerSection, RMSprop, Sgd
from training.config.sections.schedule import OneCycle
from training.export.bundle import ExportBundle
from training.models.networks.stages import stages
from training.optim import make_optimizer
from training.optim.configured_groups import frozen_names, make_freezing
from training.optim.optimizers import implementation
from training.tutorial.literals import Setting, setting

_LISTED = '[{**group, "params": [model.get_parameter(name) for name in group["params"]]} for group in GROUPS]'
_ALL = '[{{"params": [each for each in model.parameters() if each.requires_grad], "weight_decay": {}}}]'
_SETTINGS = ("params", "name", "lr", "weight_decay", "lr_scale")  # of every group


@dataclass(frozen=True)
class OptimizerListing:
    """The call that makes it. ``grouped``: its groups follow from shapes alone."""

    name: str
    place: str
    arguments: str
    grouped: bool
    groups: str
    words: str
    settings: list[Setting]


def describe_optimizer(bundle: ExportBundle) -> OptimizerListing:
    """What the templates ask for. The groups are listed by names where no short rule says them: by shape, or that there is one."""
    section = bundle.config.optimizer
    depth = stages(bundle.model)
    make_freezing(bundle.model, section, depth)  # an optimizer leaves out what will never be trained
    optimizer = make_optimizer(bundle.model, section, torch.device("cpu"), stages=depth)
    groups = optimizer.param_groups
    muon, scaled = isinstance(section, Muon), any("lr_scale" in group for group in groups)
    alike = not muon and not scaled and len({group["weight_decay"] for group in groups}) == 1
    grouped = not (muon or scaled or alike) and all(
        (parameter.ndim > 1) == (group["weight_decay"] > 0.0) for group in groups for parameter in group["params"]
    )
    settings = [setting(section, "weight_decay")] * grouped
    if not alike and not grouped:
        names = {id(parameter): name for name, parameter in bundle.model.named_parameters()}
        listed = [
            {
                "params": [names[id(parameter)] for parameter in group["params"]],
                "weight_decay": group["weight_decay"],
                **({"lr_scale": group.get("lr_scale", 1.0)} if scaled else {}),
                **({key: value for key, value in group.items() if key not in _SETTINGS} if muon else {}),
            }
            for group in groups
        ]
        settings.append(Setting("The optimizer's groups of parameters.", "GROUPS", listed))
    words = "matrices and filters with weight decay, biases and the scales of norms without"
    if not grouped:
        words = "all parameters" if alike else "groups of parameters, each with its settings"
    return OptimizerListing(
        name="SGD" if isinstance(section, Sgd) else type(section).__name__,
        place="" if muon else "torch.optim.",
        arguments=_arguments(bundle.config, optimizer),
        grouped=grouped,
        groups=_ALL.format(groups[0]["weight_decay"]) if alike else _LISTED,
        words=words,
        settings=settings,
    )


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
    if isinstance(section, Sgd | RMSprop) and isinstance(config.schedule, OneCycle) and config.schedule.cycle_momentum:
        texts["momentum"] = "MAX_MOMENTUM"
    texts["fused" if implementation(optimizer) == "fused" else "foreach"] = "True"
    return "".join(f", {name}={text}" for name, text in texts.items())


def write_clipping(clip_norm: float | None, clip_value: float | None) -> str:
    """What measures the gradient norm and clips."""
    if clip_value and clip_norm:
        return "partial(clip_value_and_norm, max_value=CLIP_VALUE, max_norm=CLIP_NORM)"
    if clip_value:
        return "partial(clip_value, max_value=CLIP_VALUE)"
    return f"partial(nn.utils.clip_grad_norm_, max_norm={'CLIP_NORM' if clip_norm else 'math.inf'})"


@dataclass(frozen=True)
class Averaging:
    """The share of the newest weights, and which model is judged. ``measured``: batch norm's statistics are taken again."""

    share: str
    judged: str
    measured: bool


def describe_averaging(bundle: ExportBundle) -> Averaging | None:
    """How weights are averaged; None where they are not."""
    updates = 'torch.tensor(progress["averages"], device=device)'
    if bundle.config.loop.ema_decay is not None:
        return Averaging(f"ema_share({updates}, EMA_DECAY)", "averaged", False)
    if bundle.config.loop.swa_start is None:
        return None
    norms = any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in bundle.model.modules())
    return Averaging(f"swa_share({updates})", 'averaged if progress["averages"] else model', norms)


def describe_freezing(bundle: ExportBundle) -> list[Setting]:
    """The settings of what is frozen: the beginnings of the names, and for how many epochs; none where nothing is."""
    section = bundle.config.optimizer
    frozen = tuple(_beginnings(bundle.model, frozen_names(section, stages(bundle.model))))
    if not frozen:
        return []
    settings = [Setting("What keeps the weights it began with: names that begin so.", "FROZEN", frozen)]
    return settings + [setting(section, "unfreeze_epoch")] * (section.unfreeze_epoch is not None)


def _beginnings(module: nn.Module, names: set[str], place: str = "") -> Iterator[str]:
    """As few as say which parameters of ``module``, which is called ``place``, are among ``names``."""
    inside = {f"{place}{name}" for name, _ in module.named_parameters()}
    if inside and inside <= names and place:
        yield place
        return
    yield from (f"{place}{name}" for name, _ in module.named_parameters(recurse=False) if f"{place}{name}" in names)
    for name, child in module.named_children():
        yield from _beginnings(child, names, f"{place}{name}.")


def has_same_freezing(bundle: ExportBundle, script: ModuleType, model: nn.Module, ours: nn.Module) -> bool:
    """Whether the script freezes what the engine does, of fresh models in training mode, epoch by epoch; both are then as a run
    begins, but that nothing is frozen for some epochs only."""
    section = bundle.config.optimizer
    if section.freeze == "off":
        return not hasattr(script, "Freezing")
    names = [name for name, _ in model.named_parameters() if name.startswith(script.FROZEN)]
    theirs = script.Freezing(model.train(), names, getattr(script, "UNFREEZE_EPOCH", None))
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
