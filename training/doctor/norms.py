"""Whether batch norm sees batches that it can make something of."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from training.config.describe import describe
from training.doctor.findings import warn
from training.engine.session import Session
from training.events import Found

FEW = 8
"""Samples in a batch below which its mean and std say little of all samples'."""


def norm_findings(session: Session) -> list[Found]:
    """A warning where batch norm works on parts of a step's batch, or on very few samples."""
    loop = session.config.loop
    if not _has_batch_norm(session.model):
        return []
    fix = _other_norm(session)
    instead = "choose group normalization" if fix else "choose a network without it"
    if loop.accumulation > 1:
        return [
            warn(
                f"Batch norm sees {loop.batch_size} samples at a time, not the {loop.batch_size * loop.accumulation} "
                "of a step: gradients are accumulated, its mean and std are not.",
                advice=f"The run differs from one with larger batches; {instead} to be independent of how a step is cut.",
                fix=fix,
            )
        ]
    if loop.batch_size < FEW:
        return [
            warn(
                f"Batch norm takes its mean and std from {loop.batch_size} samples, which is little.",
                advice=f"Use larger batches, or {instead}.",
                fix=fix,
            )
        ]
    return []


def _has_batch_norm(model: nn.Module) -> bool:
    """Whether any takes the batch's statistics: one that is frozen goes by those it has."""
    return any(isinstance(module, _BatchNorm) and module.training for module in model.modules())


def _other_norm(session: Session) -> dict[str, str]:
    """The setting that replaces batch norm; empty where the network has none."""
    model = session.config.model
    offered = {spec.name: spec.choices for spec in describe(type(model))}.get("norm", ())
    return {"model.norm": "group"} if "group" in offered and getattr(model, "norm", "") == "batch" else {}
