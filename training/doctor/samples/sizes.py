"""Whether images are large enough: for what they show, and for the network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from pydantic import JsonValue
from torch import nn

from training.config.sections.user_file import UserFile
from training.core.splits import pick_evenly
from training.data.images.images import Images
from training.engine.session import Session
from training.events import Finding
from training.findings.data import (
    AT_ONE_PIXEL,
    LITTLE,
    LOST_DETAIL,
    RESIZED,
    SHRUNK,
    TOO_SMALL,
    VERY_LITTLE,
)
from training.models.meta_forward import switch_mode

_HEADERS = 24
_MOST_SIDE = 1024
_SMALL = 64
"""Pixels of files that may as well stay as they are."""


def size_findings(session: Session) -> list[Finding]:
    """Of images alone."""
    if session.data.facts.layout != "image":
        return []
    return [*_find_shrinking(session), *_at_one_pixel(session)]


def _find_shrinking(session: Session) -> Iterator[Finding]:
    source, (_, height, width) = session.data.source, session.data.facts.shape
    if not isinstance(source, Images):
        return
    sizes = source.file_sizes(pick_evenly(session.data.splits["train"], _HEADERS))
    sides = sizes[np.isfinite(sizes).all(1)].min(1) if len(sizes) else sizes
    side = min(height, width)
    times = float(np.median(sides)) / side if len(sides) else 0.0
    if times < SHRUNK:
        return
    little = (times >= SHRUNK and side <= VERY_LITTLE) or (times >= LOST_DETAIL and side <= LITTLE)
    if not little and times < LOST_DETAIL:
        return
    original = float(np.median(sides))
    better = 2 ** int(np.log2(max(2.0, original if original <= _SMALL else min(original / 2.0, 128.0))))
    fix: dict[str, JsonValue] = {}
    if little and hasattr(session.config.dataset, "image_size"):
        fix = {"dataset.image_size": better if isinstance(session.config.dataset.image_size, int) else [better, better]}
    yield RESIZED.find(
        "warning" if little else "info",
        f"Images of about {np.median(sides):,.0f} pixels are resized to {side}, {times:.0f} times smaller: small details are gone.",
        f"Try {better} pixels." if little else "",
        place="dataset.image_size",
        evidence={"original": float(np.median(sides)), "side": side},
        fix=fix,
    )


def _at_one_pixel(session: Session) -> Iterator[Finding]:
    """Convolutions that see a single pixel of features, and padding around it."""
    if isinstance(session.config.model, UserFile):
        return
    convolutions = [
        module for module in session.model.modules() if isinstance(module, nn.Conv2d) and min(module.kernel_size) > 1
    ]
    if not convolutions:
        return
    seen: list[int] = []

    def note(_module: nn.Module, inputs: tuple[Any, ...]) -> None:
        seen.append(min(inputs[0].shape[-2:]))

    hooks = [module.register_forward_pre_hook(note) for module in convolutions]
    try:
        samples = next(iter(session.data.training_samples(1))).to(session.device)
        with switch_mode(session.model, training=False), torch.no_grad(), session.numerics.autocast():
            session.model(samples)
    finally:
        for hook in hooks:
            hook.remove()
    lost = sum(side == 1 for side in seen)
    if lost < AT_ONE_PIXEL:
        return
    dataset = session.config.dataset
    side = 2 * min(session.data.facts.shape[1:])
    fixable = hasattr(dataset, "image_size") and side <= _MOST_SIDE
    size = getattr(dataset, "image_size", None)
    yield TOO_SMALL.find(
        "warning",
        f"Images of {side // 2} pixels are too small for this network: {lost} of its {len(seen)} convolutions see a single pixel of features.",
        "Use larger images, or a network that halves them less often.",
        evidence={"convolutions": len(seen), "at_one_pixel": lost},
        fix={"dataset.image_size": side if size is None or isinstance(size, int) else [side, side]} if fixable else {},
    )
