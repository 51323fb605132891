"""What of one optimizer's settings another one takes alike, and what has to move to its scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OTHER_RATES = ("schedule.eta_min", "schedule.min_lr", "loop.swa_lr")
"""Settings that are learning rates themselves and move with the optimizer's."""

_DECOUPLED = ("adamw", "muon")
_MUON_FACTOR = 20.0
"""How much higher Muon's rates are where its steps are not made as large as AdamW's."""


def moved_rate(rate: float, usual: float, new_usual: float) -> float:
    """``rate`` of an optimizer with which ``usual`` is usual, for one with which ``new_usual`` is.

    On the same scale it stays. A careful rate, as for fine-tuning, stays as careful. Any other becomes the usual one: how far
    an optimizer can be pushed on a network says nothing about the next.
    """
    if usual == new_usual:
        return rate
    return new_usual if rate >= usual else scaled(rate, new_usual / usual)


def usual_rate(optimizer: Mapping[str, Any], default: float) -> float:
    """What is usual with the section ``optimizer``, whose kind has this ``default``."""
    return default if optimizer.get("adjust_lr_fn", "match_rms_adamw") == "match_rms_adamw" else _MUON_FACTOR * default


def scaled(rate: float, factor: float) -> float:
    """``rate * factor`` in the figures a person would type."""
    return float(f"{rate * factor:.3g}") if factor != 1.0 else rate


def decay_alike(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the same number is as much weight decay for both sections ``[optimizer]``."""
    return _decay(old) == _decay(new)


def _decay(optimizer: Mapping[str, Any]) -> str:
    if optimizer["kind"] == "adafactor":
        return "at a rate ten times as high"
    decoupled = optimizer.get("decoupled_weight_decay", optimizer["kind"] in _DECOUPLED)
    return "of the weights" if decoupled else "in the gradient"
