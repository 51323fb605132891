"""What there is to say of the network: the weights it begins with, whether batch norm sees batches that it can make something of, and
whether a person's own can be built again from its seed."""

from __future__ import annotations

import torch
from pydantic import JsonValue
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from training.config.describe import describe
from training.config.sections.user_file import UserFile
from training.engine.session import Session
from training.events import Finding
from training.findings.network import CUT_BATCH, FEW, FROZEN, NOT_REPEATABLE, TINY_BATCH, WEIGHTS
from training.findings.settings import MOST_DROPOUT, REGULARIZED
from training.models import make_model
from training.system.untrusted import escape_unprintable


def norm_findings(session: Session) -> list[Finding]:
    """A warning where batch norm works on parts of a step's batch, or on very few samples."""
    loop = session.config.loop
    if not _has_batch_norm(session.model):
        return []
    fix = _other_norm(session)
    instead = "choose group normalization" if fix else "choose a network without it"
    if loop.accumulation > 1:
        return [
            CUT_BATCH.find(
                "warning",
                f"Batch norm sees {loop.batch_size} samples at a time, not the {loop.batch_size * loop.accumulation} "
                "of a step: gradients are accumulated, its mean and std are not.",
                advice=f"The run differs from one with larger batches; {instead} to be independent of how a step is cut.",
                fix=fix,
            )
        ]
    if loop.batch_size < FEW:
        return [
            TINY_BATCH.find(
                "warning",
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


def own_network_findings(session: Session) -> list[Finding]:
    """A second build shall give the same initial weights: one that seeds generators from the clock cannot be repeated."""
    config = session.config
    if not isinstance(config.model, UserFile):
        return []
    dropped = _own_dropout(session)
    if session.beginning:
        return dropped
    again = make_model(config.model, session.data.facts, session.objective.outputs, config.seed)
    ours, theirs = list(session.model.parameters()), list(again.parameters())
    if len(ours) == len(theirs) and all(map(_same, ours, theirs)):
        return dropped
    title = f"{escape_unprintable(config.model.path)}: the initial weights are others each time build is called, though the seed is the same."
    advice = "Such a run cannot be repeated; let build draw random numbers without seeding generators itself."
    return [*dropped, NOT_REPEATABLE.find("warning", title, advice)]


def _own_dropout(session: Session) -> list[Finding]:
    """Of a person's own network: as of the setting."""
    for name, module in session.model.named_modules():
        if isinstance(module, _DropoutNd) and module.p > MOST_DROPOUT:
            title = f"The dropout of {escape_unprintable(name, 60)} is {module.p:g}, more than {MOST_DROPOUT:g}: what is left is hard to learn from."
            advice = "Begin with 0.1 to 0.3."
            return [REGULARIZED.find("warning", title, advice, place=name, evidence={"value": module.p})]
    return []


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one.cpu(), other, rtol=0.0, atol=0.0, equal_nan=True)


def weight_findings(session: Session) -> list[Finding]:
    """What was taken of known weights, and what makes no sense without."""
    beginning = session.beginning
    if beginning:
        return [WEIGHTS.ok(beginning.sentence, beginning.advice)]
    if session.config.optimizer.freeze == "off":
        return []
    title = "What is frozen is randomly initialized, and stays so as long as it is frozen."
    advice = "Begin with pretrained weights, branch from a run that has some, or set optimizer.freeze to off."
    fix: dict[str, JsonValue] = {"optimizer.freeze": "off"}
    if session.config.optimizer.unfreeze_epoch is not None:
        fix["optimizer.unfreeze_epoch"] = None
    return [FROZEN.find("warning", title, advice, fix=fix)]
