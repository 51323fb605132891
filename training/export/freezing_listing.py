"""What the script of a run says about freezing: which parts of the network keep what they began with, and until when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

from training.export.material import Material
from training.export.written import Setting, setting
from training.models.stages import stages
from training.optim.configured_groups import frozen_names, make_freezing


def describe_freezing(material: Material) -> dict[str, Any]:
    """For the templates: ``frozen`` are the beginnings of the names of what is frozen; ``unfreezes`` says that it is so for
    some epochs only."""
    section = material.config.optimizer
    names = frozen_names(section, stages(material.model))
    return {
        "frozen": tuple(_beginnings(material.model, names)),
        "unfreezes": section.unfreeze_epoch is not None,
        "unfreeze_epoch": "None" if section.unfreeze_epoch is None else "UNFREEZE_EPOCH",
    }


def freezing_settings(material: Material, facts: dict[str, Any]) -> list[Setting]:
    """What the templates name in capitals."""
    if not facts["frozen"]:
        return []
    settings: list[Setting] = [
        ("What keeps the weights it began with: names that begin so.", "FROZEN", facts["frozen"])
    ]
    return settings + [setting(material.config.optimizer, "unfreeze_epoch")] * facts["unfreezes"]


def _beginnings(module: nn.Module, names: set[str], place: str = "") -> Iterator[str]:
    """As few as say which parameters of ``module``, which is called ``place``, are among ``names``."""
    inside = {f"{place}{name}" for name, _ in module.named_parameters()}
    if inside and inside <= names and place:
        yield place
        return
    yield from (f"{place}{name}" for name, _ in module.named_parameters(recurse=False) if f"{place}{name}" in names)
    for name, child in module.named_children():
        yield from _beginnings(child, names, f"{place}{name}.")


def frozen_alike(material: Material, script: dict[str, Any], model: nn.Module, ours: nn.Module) -> bool:
    """Whether the script freezes what the engine does, of fresh models in training mode, epoch by epoch; both are then as a run
    begins, but that nothing is frozen for some epochs only."""
    section = material.config.optimizer
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
