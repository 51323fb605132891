"""Optimizers, parameter groups, freezing, clipping, the non-finite guard and the averages of weights."""

from __future__ import annotations

from training.optim.clip import clip_gradients_, clip_value_, gradient_norm
from training.optim.ema import Average, Ema, Swa
from training.optim.freezing import Freezing
from training.optim.groups import parameter_groups
from training.optim.guard import Guard, make_guard
from training.optim.optimizers import implementation, load_optimizer, make_optimizer, set_rate

__all__ = [
    "Average",
    "Ema",
    "Freezing",
    "Guard",
    "Swa",
    "clip_gradients_",
    "clip_value_",
    "gradient_norm",
    "implementation",
    "load_optimizer",
    "make_guard",
    "make_optimizer",
    "parameter_groups",
    "set_rate",
]
