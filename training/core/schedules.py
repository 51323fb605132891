"""The learning rate (and one cycle's momentum) as pure functions of the optimizer step: nothing to save for a resume.

Each equals torch's class of its name, stepped once after every optimizer step; of one that is stepped once per epoch all
counts are of epochs. After a warm-up of W steps a schedule
sees ``t = step - W`` and has ``total_steps - W`` steps to lay itself out over: torch's ``T_max`` or ``total_iters``.
As in torch, the low end would be reached at step ``total_steps``, so the last real step lies one before it; one cycle
alone reaches its end at the last step itself. Past the end the last value is held."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass


def linear_warmup(step: int, warmup_steps: int, start_factor: float) -> float:
    """The share of the rate that step ``step`` of a warm-up uses, as ``LinearLR``; 1 behind it."""
    return start_factor + (1.0 - start_factor) * step / warmup_steps if step < warmup_steps else 1.0


def linear_decay(t: int, total_iters: int, lr: float, end_factor: float) -> float:
    """``LinearLR(start_factor=1, end_factor, total_iters)``."""
    return lr * (1.0 + (end_factor - 1.0) * min(t, total_iters) / total_iters)


def cosine_annealing(t: int, t_max: int, lr: float, eta_min: float) -> float:
    """``CosineAnnealingLR(T_max, eta_min)``; held at ``eta_min`` past the end, where torch's would rise again."""
    return eta_min + (lr - eta_min) * ((1.0 + math.cos(math.pi * (min(t, t_max) / t_max))) / 2.0)


def cosine_warm_restarts(t: int, t_0: int, t_mult: int, lr: float, eta_min: float) -> float:
    """``CosineAnnealingWarmRestarts(T_0, T_mult, eta_min)``."""
    period = t_0
    if t_mult == 1:
        t %= period
    while t >= period:  # the periods grow, so this ends after a logarithm of t
        t, period = t - period, period * t_mult
    return cosine_annealing(t, period, lr, eta_min)


def step_decay(t: int, step_size: int, lr: float, gamma: float) -> float:
    """``StepLR(step_size, gamma)``."""
    return lr * gamma ** (t // step_size)


def multi_step_decay(t: int, milestones: Sequence[int], lr: float, gamma: float) -> float:
    """``MultiStepLR(milestones, gamma)``."""
    return lr * gamma ** bisect_right(milestones, t)


def exponential_decay(t: int, lr: float, gamma: float) -> float:
    """``ExponentialLR(gamma)``."""
    return lr * gamma**t


def polynomial_decay(t: int, total_iters: int, lr: float, power: float) -> float:
    """``PolynomialLR(total_iters, power)``."""
    return lr * (1.0 - min(t, total_iters) / total_iters) ** power


def stable_decay(
    t: int, length: int, decay: int, lr: float, end_factor: float, shape: Callable[[float], float]
) -> float:
    """The rate is held until the last ``decay`` of ``length`` steps, over which it falls to ``end_factor * lr`` along
    ``shape``: the stable and the decay phase of WSD (Hu et al. 2024, "MiniCPM", arXiv:2404.06395, section 4)."""
    x = max(0.0, (min(t, length) - (length - decay)) / decay)
    return lr * (end_factor + (1.0 - end_factor) * shape(x)) if x else lr


def decay_steps(decay_fraction: float, total_steps: int, length: int) -> int:
    """How many of the ``length`` steps after the warm-up decay: a fraction of all steps, at least one."""
    return min(max(1, round(decay_fraction * total_steps)), length)


def straight(position: float) -> float:
    """1 at position 0, 0 at position 1, along a line."""
    return 1.0 - position


def half_cosine(position: float) -> float:
    """1 at position 0, 0 at position 1, along half a cosine wave."""
    return (1.0 + math.cos(math.pi * position)) / 2.0


def square_root(position: float) -> float:
    """1 at position 0, 0 at position 1, steep at first: Hägele et al. 2024, "Scaling Laws and Compute-Optimal
    Training Beyond Fixed Training Durations", arXiv:2405.18392, section 3."""
    return 1.0 - math.sqrt(position)


def one_cycle(
    step: int, total_steps: int, pct_start: float, values: Sequence[float], anneal: Callable[..., float]
) -> float:
    """Rate or momentum of ``OneCycleLR`` (Smith and Topin 2018, arXiv:1708.07120) that leads through ``values``: up for
    the share ``pct_start`` of all steps, and down, with four values first as steeply as up."""
    ends = [0.0, *(phase * pct_start * total_steps - phase for phase in range(1, len(values) - 1)), total_steps - 1]
    phase = sum(step > end for end in ends[1:-1])
    begin, end = ends[phase : phase + 2]
    position = (min(step, end) - begin) / (end - begin) if end != begin else 1.0
    return anneal(values[phase], values[phase + 1], position)


def anneal_cosine(start: float, end: float, position: float) -> float:
    """From ``start`` to ``end`` while position goes from 0 to 1, along half a cosine wave."""
    return end + (start - end) / 2.0 * (math.cos(math.pi * position) + 1.0)


def anneal_linear(start: float, end: float, position: float) -> float:
    """From ``start`` to ``end`` while position goes from 0 to 1, along a line."""
    return (end - start) * position + start


@dataclass
class Plateau:
    """What ``ReduceLROnPlateau(threshold_mode="rel")`` remembers: the only state any schedule has.

    ``factor``: share of the optimizer's rate now in force. ``best``: best metric so far, None before the first.
    ``bad_validations``: validations without progress. ``cooldown_left``: validations still to wait after a drop.
    """

    factor: float = 1.0
    best: float | None = None
    bad_validations: int = 0
    cooldown_left: int = 0

    def update(
        self,
        metric: float,
        maximize: bool,
        lr: float,
        factor: float,
        patience: int,
        threshold: float,
        cooldown: int,
        min_lr: float,
    ) -> bool:
        """Take in one validation's ``metric``; True when the rate fell. NaN counts as no progress."""
        sign = 1.0 if maximize else -1.0
        best = -sign * math.inf if self.best is None else self.best
        better = sign * metric > sign * best * (1.0 + sign * threshold)
        self.best = metric if better else self.best
        self.bad_validations = 0 if better or self.cooldown_left > 0 else self.bad_validations + 1
        self.cooldown_left = max(0, self.cooldown_left - 1)
        if self.bad_validations <= patience:
            return False
        self.cooldown_left, self.bad_validations = cooldown, 0
        old = lr * self.factor
        new = max(old * factor, min_lr)
        fell = old - new > 1e-8  # ReduceLROnPlateau's eps: a smaller drop is not made
        self.factor = new / lr if fell else self.factor
        return fell
