"""The normalization layers that our own networks offer."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from training.config.sections.model_section import Norm
from training.errors import InputError
from training.facts import DataFacts
from training.models.meta_forward import forward_meta

MOST_GROUPS, LEAST_IN_GROUP = 32, 8


def make_norm(kind: Norm, channels: int, sides: int) -> list[nn.Module]:
    """The layer that normalizes ``channels`` channels of images (``sides`` 2) or plain features (0); none for "none".

    "group" has up to 32 groups of equal size (Wu and He, "Group Normalization", arXiv 1803.08494), of 8 channels at least:
    a group of one plain feature would leave nothing of it.
    "layer" takes all of a sample together: of images it is the group normalization with a single group.
    """
    if kind == "batch":
        return [nn.BatchNorm2d(channels) if sides else nn.BatchNorm1d(channels)]
    if kind == "group":
        most = max(1, min(MOST_GROUPS, channels // LEAST_IN_GROUP))
        groups = max(number for number in range(1, most + 1) if channels % number == 0)
        return [nn.GroupNorm(groups, channels)]
    if kind == "layer":
        return [nn.GroupNorm(1, channels) if sides else nn.LayerNorm(channels)]
    return []


def refuse_single_samples(model: nn.Module, facts: DataFacts) -> None:
    """Raise InputError where ``model``, in training mode, cannot take a batch of one sample: batch norm has nothing to take
    a mean over where only one value of a channel is left."""
    if not any(isinstance(module, _BatchNorm) for module in model.modules()):
        return
    try:
        forward_meta(model, facts, 1)
    except ValueError as error:
        if "more than 1 value per channel" not in str(error):
            raise
        raise InputError(
            "loop.batch_size: the batch norm of this network cannot take batches of a single sample; use at least 2, "
            "better 8 or more.",
            fix={"loop.batch_size": 8},
        ) from error
