"""Which parameters get weight decay, which rate, and which of Muon's two ways to step: by plain arguments, as a script says them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from torch import nn

Stages = Sequence[Sequence[str]]
"""The names of a network's parameters from its input to its head (``training.models.networks.stages``)."""

# torch keeps no common base for its normalization layers; `_BatchNorm` and `_InstanceNorm` cover theirs, lazy and
# synchronized ones included.
_NORM_LAYERS = (
    nn.modules.batchnorm._NormBase,
    nn.GroupNorm,
    nn.LayerNorm,
    nn.RMSNorm,
    nn.LocalResponseNorm,
)
_EMBEDDINGS = ("token", "pos_embed", "position")
"""In the name of a free parameter: class tokens, embeddings of positions, tables of relative positions."""


class GroupRule(NamedTuple):
    """What parameters are grouped by.

    ``weight_decay``, also of biases, norms, embeddings and scales where ``decay_all``. ``layer_decay``: the rate's factor
    from each stage to the one before it; ``head_lr_factor``: of the last stage. ``frozen``: names of those that are trained
    later. ``adamw_lr_factor``: of what Muon leaves to AdamW; None for all other optimizers.
    """

    weight_decay: float = 0.0
    decay_all: bool = False
    layer_decay: float = 1.0
    head_lr_factor: float = 1.0
    frozen: Collection[str] = ()
    adamw_lr_factor: float | None = None


def group_parameters(model: nn.Module, rule: GroupRule, stages: Stages = ()) -> list[dict[str, Any]]:
    """The trainable parameters of ``model`` as optimizer groups, in the model's own order.

    Biases, everything inside normalization layers, embeddings and every parameter of at most one dimension (scales) are in
    "no decay" unless ``rule.decay_all``, the others in "decay". Where the rate is another by depth there are
    such groups for each rate, from the input to the head, with that factor as ``lr_scale``. With Muon the matrices between
    input and head are in "Muon", whose groups come first. Frozen parameters and empty groups are left out; a parameter
    shared by several modules appears once, without decay if any of its places says so.

    Raises ValueError when ``stages`` are needed and missing.
    """
    spared = _norms_and_biases(model) | _embeddings(model)
    orthogonal = _orthogonal(model, rule, stages, spared)
    depths = _depths(rule, stages)
    last = len(stages) - 1
    groups: dict[_Key, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            decays = rule.decay_all or id(parameter) not in spared
            key = _Key(name not in orthogonal, depths.get(name, 0), name in rule.frozen, not decays)
            groups.setdefault(key, []).append(parameter)
    return [
        {
            "name": _name_group(rule, key, last),
            "params": parameters,
            "weight_decay": 0.0 if key.spared else rule.weight_decay,
            **_scale(rule, key, last),
        }
        for key, parameters in sorted(groups.items(), key=lambda item: item[0])
    ]


class _Key(NamedTuple):
    """What tells groups apart, in the order they come in."""

    rest: bool  # of Muon
    depth: int
    later: bool  # frozen at first: takes part in fewer steps than the others
    spared: bool


def _depths(rule: GroupRule, stages: Stages) -> dict[str, int]:
    """The stage of each parameter, as far as the rate depends on it: the head's alone where no other differs."""
    by_depth = rule.layer_decay != 1.0
    if not by_depth and rule.head_lr_factor == 1.0:
        return {}
    if not stages:
        raise ValueError("the stages of the network are needed for a rate by depth")
    last = len(stages) - 1
    return {name: depth for depth, names in enumerate(stages) if by_depth or depth == last for name in names}


def _scale(rule: GroupRule, key: _Key, last: int) -> dict[str, float]:
    """``lr_scale``, unless it is 1."""
    scale = 1.0
    if rule.layer_decay != 1.0:
        scale *= rule.layer_decay ** (last - key.depth)
    if rule.head_lr_factor != 1.0 and key.depth == last:
        scale *= rule.head_lr_factor
    if rule.adamw_lr_factor is not None and key.rest:
        scale *= rule.adamw_lr_factor
    return {"lr_scale": scale} if scale != 1.0 else {}


def _name_group(rule: GroupRule, key: _Key, last: int) -> str:
    name = "no decay" if key.spared else "decay"
    if rule.adamw_lr_factor is not None:
        name = f"AdamW, {name}" if key.rest else "Muon"
    if rule.layer_decay != 1.0 or rule.head_lr_factor != 1.0:
        if key.depth == last:
            name = f"{name}, head"
        elif rule.layer_decay != 1.0:
            name = f"{name}, stage {key.depth + 1}"
    return f"{name}, frozen at first" if key.later else name


def _orthogonal(model: nn.Module, rule: GroupRule, stages: Stages, spared: set[int]) -> set[str]:
    """What Muon steps itself: matrices and filters between input and head.

    Jordan's own networks flatten a convolution's filters to a matrix (https://github.com/KellerJordan/Muon), which torch's
    Muon leaves to its caller. Embeddings and the head are left to AdamW, as both say.
    """
    if rule.adamw_lr_factor is None:
        return set()
    if not stages:
        raise ValueError("the stages of the network are needed for Muon")
    head = set(stages[-1])
    return {
        name
        for name, parameter in model.named_parameters()
        if name not in head and id(parameter) not in spared and parameter.numel() > max(parameter.shape, default=1)
    }


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
