"""The groups of parameters and the freezing that a configuration asks for (``training.optim.groups``)."""

from __future__ import annotations

from typing import Any

from torch import nn

from training.config.sections.optimizer import Muon, OptimizerSection
from training.errors import InputError
from training.optim.freezing import Freezing
from training.optim.groups import GroupRule, Stages, group_parameters
from training.protocol.answers import ParameterGroup


def parameter_groups(model: nn.Module, config: OptimizerSection, stages: Stages = ()) -> list[dict[str, Any]]:
    """``group_parameters`` by what ``config`` says."""
    rule = GroupRule(
        config.weight_decay,
        config.decay_bias_and_norm,
        config.layer_decay,
        config.head_lr_factor,
        frozen_names(config, stages),
        config.adamw_lr_factor if isinstance(config, Muon) else None,
    )
    return group_parameters(model, rule, stages)


def describe_groups(model: nn.Module, config: OptimizerSection, stages: Stages) -> list[ParameterGroup]:
    """``parameter_groups`` in figures. What is frozen for all time comes last, with a factor of 0."""
    groups = parameter_groups(model, config, stages)
    frozen = [parameter for parameter in model.parameters() if not parameter.requires_grad]
    if frozen:
        groups.append({"name": "frozen, no decay", "params": frozen, "lr_scale": 0.0})
    return [
        ParameterGroup(
            name=group["name"],
            tensors=len(group["params"]),
            parameters=sum(parameter.numel() for parameter in group["params"]),
            decays="no decay" not in group["name"],
            lr_scale=group.get("lr_scale", 1.0),
        )
        for group in groups
    ]


def make_freezing(model: nn.Module, config: OptimizerSection, stages: Stages) -> Freezing:
    """What ``config`` freezes of ``model``; to be called before ``make_optimizer``."""
    return Freezing(model, frozen_names(config, stages), config.unfreeze_epoch)


def freeze_and_describe(model: nn.Module, config: OptimizerSection, stages: Stages) -> list[ParameterGroup]:
    """Freeze ``model`` as a run begins, and tell its groups (``describe_groups``)."""
    freezing = make_freezing(model, config, stages)
    groups = describe_groups(model, config, stages)
    freezing.follow(0)
    return groups


def frozen_names(config: OptimizerSection, stages: Stages) -> set[str]:
    """The parameters that ``config`` freezes. Raises InputError when the network has no more stages than that, or none of its
    own weights would be left."""
    if config.freeze == "off":
        return set()
    count = len(stages) - 1 if config.freeze == "all_but_head" else config.freeze_stages
    if count >= len(stages):
        raise InputError(
            f"optimizer.freeze_stages: this network has {len(stages)} stages, so at most {len(stages) - 1} of them can stay "
            "as they are; lower it."
        )
    if not any(stages[count:]):
        raise InputError(
            "optimizer.freeze: nothing would be left to train, because the head's weights are those of the embedding; freeze "
            "fewer stages or, with a network that can, do not tie them."
        )
    return {name for names in stages[:count] for name in names}
