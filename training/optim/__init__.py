"""Optimizers, parameter groups, freezing and the non-finite guard."""

from __future__ import annotations

from training.optim.configured_groups import parameter_groups
from training.optim.guard import Guard, make_guard
from training.optim.optimizers import cycle_momentum, implementation, load_optimizer, make_optimizer

__all__ = [
    "Guard",
    "cycle_momentum",
    "implementation",
    "load_optimizer",
    "make_guard",
    "make_optimizer",
    "parameter_groups",
]
