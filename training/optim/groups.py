"""Which parameters get weight decay, which rate, and which of Muon's two ways to step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import nn

from training.config.optimizer import Muon, OptimizerSection
from training.errors import InputError
from training.optim.freezing import Freezing

Stages = Sequence[Sequence[str]]
"""The names of a network's parameters from its input to its head (``training.models.stages``)."""

# torch keeps no common base for its normalisation layers; `_BatchNorm` and `_InstanceNorm` cover theirs, lazy and
# synchronised ones included.
_NORM_LAYERS = (
    nn.modules.batchnorm._NormBase,
    nn.GroupNorm,
    nn.LayerNorm,
    nn.RMSNorm,
    nn.LocalResponseNorm,
)
_EMBEDDINGS = ("token", "pos_embed", "position")
"""In the name of a free parameter: class tokens, embeddings of positions, tables of relative positions."""


def parameter_groups(model: nn.Module, config: OptimizerSection, stages: Stages = ()) -> list[dict[str, Any]]:
    """The trainable parameters of ``model`` as optimizer groups, in the model's own order.

    Biases, everything inside normalisation layers, embeddings and every parameter of at most one dimension (scales) are in
    "no decay" unless ``config.decay_bias_and_norm``, the others in "decay". Where the rate is another by depth there are
    such groups for each rate, from the input to the head, with that factor as ``lr_scale``. With Muon the matrices between
    input and head are in "Muon", whose groups come first. Frozen parameters and empty groups are left out; a parameter
    shared by several modules appears once, without decay if any of its places says so.

    Raises ValueError when ``stages`` are needed and missing.
    """
    spared = _spared(model)
    orthogonal = _orthogonal(model, config, stages)
    depths = _depths(config, stages)
    frozen = frozen_names(config, stages)
    groups: dict[_Key, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            decays = config.decay_bias_and_norm or id(parameter) not in spared
            key = _Key(name not in orthogonal, depths.get(name, 0), name in frozen, not decays)
            groups.setdefault(key, []).append(parameter)
    return [
        {
            "name": _group_name(config, key, len(stages) - 1),
            "params": parameters,
            "weight_decay": 0.0 if key.spared else config.weight_decay,
            **_scale(config, key, len(stages) - 1),
        }
        for key, parameters in sorted(groups.items(), key=lambda item: item[0])
    ]


def describe_groups(model: nn.Module, config: OptimizerSection, stages: Stages) -> list[dict[str, Any]]:
    """``parameter_groups`` in figures, ready for JSON: ``name``, ``tensors``, ``parameters``, ``decays``, ``lr_scale``.

    What is frozen for all time comes last, with a factor of 0.
    """
    groups = parameter_groups(model, config, stages)
    frozen = [parameter for parameter in model.parameters() if not parameter.requires_grad]
    if frozen:
        groups.append({"name": "frozen, no decay", "params": frozen, "lr_scale": 0.0})
    return [
        {
            "name": group["name"],
            "tensors": len(group["params"]),
            "parameters": sum(parameter.numel() for parameter in group["params"]),
            "decays": "no decay" not in group["name"],
            "lr_scale": group.get("lr_scale", 1.0),
        }
        for group in groups
    ]


def make_freezing(model: nn.Module, config: OptimizerSection, stages: Stages) -> Freezing:
    """What ``config`` freezes of ``model``; to be called before ``make_optimizer``."""
    return Freezing(model, frozen_names(config, stages), config.unfreeze_epoch)


def freeze_and_describe(model: nn.Module, config: OptimizerSection, stages: Stages) -> list[dict[str, Any]]:
    """Freeze ``model`` as a run begins, and tell its groups (``describe_groups``)."""
    freezing = make_freezing(model, config, stages)
    groups = describe_groups(model, config, stages)
    freezing.follow(0)
    return groups


class _Key(NamedTuple):
    """What tells groups apart, in the order they come in."""

    rest: bool  # of Muon
    depth: int
    later: bool  # frozen at first: takes part in fewer steps than the others
    spared: bool


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


def _depths(config: OptimizerSection, stages: Stages) -> dict[str, int]:
    """The stage of each parameter, as far as the rate depends on it: the head's alone where no other differs."""
    by_depth = config.layer_decay != 1.0
    if not by_depth and config.head_lr_factor == 1.0:
        return {}
    if not stages:
        raise ValueError("the stages of the network are needed for a rate by depth")
    last = len(stages) - 1
    return {name: depth for depth, names in enumerate(stages) if by_depth or depth == last for name in names}


def _scale(config: OptimizerSection, key: _Key, last: int) -> dict[str, float]:
    """``lr_scale``, unless it is 1."""
    scale = 1.0
    if config.layer_decay != 1.0:
        scale *= config.layer_decay ** (last - key.depth)
    if config.head_lr_factor != 1.0 and key.depth == last:
        scale *= config.head_lr_factor
    if isinstance(config, Muon) and key.rest:
        scale *= config.adamw_lr_factor
    return {"lr_scale": scale} if scale != 1.0 else {}


def _group_name(config: OptimizerSection, key: _Key, last: int) -> str:
    name = "no decay" if key.spared else "decay"
    if isinstance(config, Muon):
        name = f"AdamW, {name}" if key.rest else "Muon"
    if config.layer_decay != 1.0 or config.head_lr_factor != 1.0:
        if key.depth == last:
            name = f"{name}, head"
        elif config.layer_decay != 1.0:
            name = f"{name}, stage {key.depth + 1}"
    return f"{name}, frozen at first" if key.later else name


def _orthogonal(model: nn.Module, config: OptimizerSection, stages: Stages) -> set[str]:
    """What Muon steps itself: matrices and filters between input and head.

    Jordan's own networks flatten a convolution's filters to a matrix (https://github.com/KellerJordan/Muon), which torch's
    Muon leaves to its caller. Embeddings and the head are left to AdamW, as both say.
    """
    if not isinstance(config, Muon):
        return set()
    if not stages:
        raise ValueError("the stages of the network are needed for Muon")
    excluded = _embeddings(model) | _norms_and_biases(model)
    head = set(stages[-1])
    return {
        name
        for name, parameter in model.named_parameters()
        if name not in head and id(parameter) not in excluded and parameter.numel() > max(parameter.shape, default=1)
    }


def _spared(model: nn.Module) -> set[int]:
    return _norms_and_biases(model) | _embeddings(model)


def _norms_and_biases(model: nn.Module) -> set[int]:
    return {
        id(parameter)
        for module in model.modules()
        for name, parameter in module.named_parameters(recurse=False)
        if isinstance(module, _NORM_LAYERS) or parameter.ndim <= 1 or name.endswith("bias")
    }


def _embeddings(model: nn.Module) -> set[int]:
    return {
        id(parameter)
        for module in model.modules()
        for name, parameter in module.named_parameters(recurse=False)
        if isinstance(module, nn.Embedding | nn.EmbeddingBag) or any(word in name for word in _EMBEDDINGS)
    }
