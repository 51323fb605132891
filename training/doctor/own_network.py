"""Whether a network of a person's own can be built again from its seed."""

from __future__ import annotations

import torch
from torch import Tensor

from training.config.sections.user_file import UserFile
from training.doctor.findings import warn
from training.engine.session import Session
from training.events import Found
from training.models import make_model
from training.system.untrusted import escape_unprintable


def own_network_findings(session: Session) -> list[Found]:
    """A second build shall give the same initial weights: one that seeds generators from the clock cannot be repeated."""
    config = session.config
    if not isinstance(config.model, UserFile) or session.beginning:
        return []
    again = make_model(config.model, session.data.facts, session.objective.outputs, config.seed)
    ours, theirs = list(session.model.parameters()), list(again.parameters())
    if len(ours) == len(theirs) and all(map(_same, ours, theirs)):
        return []
    title = f"{escape_unprintable(config.model.path)}: the initial weights are others each time build is called, though the seed is the same."
    advice = "Such a run cannot be repeated; let build draw random numbers without seeding generators itself."
    return [warn(title, advice=advice)]


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one.cpu(), other, rtol=0.0, atol=0.0, equal_nan=True)
