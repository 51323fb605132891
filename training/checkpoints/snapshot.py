"""A copy of everything a checkpoint holds, taken at one moment, independent of what trains on."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Snapshot:
    """One checkpoint's content in host memory. ``facts`` go into the manifest as they are."""

    step: int
    epoch: int
    weights: dict[str, Tensor]
    averaged: dict[str, Tensor]  # empty without EMA
    state: dict[str, Any]
    metrics: Mapping[str, float]
    facts: Mapping[str, Any] = field(default_factory=dict)


def copied(value: Any) -> Any:
    """A deep copy on the host: tensors keep their memory order, dicts, lists and tuples are rebuilt.

    Copies from a GPU are queued without waiting; call ``torch.cuda.synchronize`` before reading them. Texts are
    interned, because pickle writes a text that is the same object twice in another way than two equal ones: a resumed
    run's file would differ from the unbroken run's though every number in it agrees.
    """
    if isinstance(value, Tensor):
        if value.device.type == "cuda":
            host = torch.empty_like(value, device="cpu", pin_memory=True)
            return host.copy_(value.detach(), non_blocking=True)
        return value.detach().to("cpu", copy=True)
    if isinstance(value, str):
        return sys.intern(value)
    if isinstance(value, Mapping):
        return {copied(key): copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(copied(item) for item in value)
    return value
