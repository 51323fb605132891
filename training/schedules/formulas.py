"""The schedules as formulas."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from training.config import schedule as sections
from training.schedules.schedule import Schedule, warmup_factor


@dataclass(frozen=True)
class Curve:
    """A warm-up, then ``after(t)``: the rate t steps after its end.

    The warm-up is ``LinearLR(start_factor=warmup_start_factor, end_factor=1, total_iters=warmup_steps)``, joined as
    ``SequentialLR([LinearLR, ...], milestones=[warmup_steps])`` joins it.
    """

    config: sections.ScheduleSection
    base_lr: float
    after: Callable[[int], float]

    plateau = None

    def lr(self, step: int) -> float:
        if step < self.config.warmup_steps:
            return self.base_lr * warmup_factor(self.config, step)
        return self.after(step - self.config.warmup_steps)

    def momentum(self, step: int) -> float | None:
        return None


def _half_cosine(position: float) -> float:
    """1 at position 0, 0 at position 1."""
    return (1.0 + math.cos(math.pi * position)) / 2.0


def make_constant(config: sections.Constant, base_lr: float, total_steps: int) -> Schedule:
    """``ConstantLR(factor=1)``."""
    return Curve(config, base_lr, lambda t: base_lr)


def make_linear(config: sections.Linear, base_lr: float, total_steps: int) -> Schedule:
    """``LinearLR(start_factor=1, end_factor, total_iters)``."""
    length = total_steps - config.warmup_steps
    return Curve(config, base_lr, lambda t: base_lr * (1.0 + (config.end_factor - 1.0) * min(t, length) / length))


def make_cosine(config: sections.Cosine, base_lr: float, total_steps: int) -> Schedule:
    """``CosineAnnealingLR(T_max, eta_min)``; held at ``eta_min`` past the end, where torch's would rise again."""
    length = total_steps - config.warmup_steps
    return Curve(
        config,
        base_lr,
        lambda t: config.eta_min + (base_lr - config.eta_min) * _half_cosine(min(t, length) / length),
    )


def make_cosine_restarts(config: sections.CosineRestarts, base_lr: float, total_steps: int) -> Schedule:
    """``CosineAnnealingWarmRestarts(T_0, T_mult, eta_min)``."""

    def after(t: int) -> float:
        period = config.t_0
        if config.t_mult == 1:
            t %= period
        while t >= period:  # the periods grow, so this ends after a logarithm of t
            t -= period
            period *= config.t_mult
        return config.eta_min + (base_lr - config.eta_min) * _half_cosine(t / period)

    return Curve(config, base_lr, after)


def make_step(config: sections.Step, base_lr: float, total_steps: int) -> Schedule:
    """``StepLR(step_size, gamma)``; ``step_size`` counts from the end of the warm-up."""
    return Curve(config, base_lr, lambda t: base_lr * config.gamma ** (t // config.step_size))


def make_multi_step(config: sections.MultiStep, base_lr: float, total_steps: int) -> Schedule:
    """``MultiStepLR(milestones, gamma)``; milestones count from the end of the warm-up."""
    return Curve(config, base_lr, lambda t: base_lr * config.gamma ** bisect_right(config.milestones, t))


def make_exponential(config: sections.Exponential, base_lr: float, total_steps: int) -> Schedule:
    """``ExponentialLR(gamma)``."""
    return Curve(config, base_lr, lambda t: base_lr * config.gamma**t)


def make_polynomial(config: sections.Polynomial, base_lr: float, total_steps: int) -> Schedule:
    """``PolynomialLR(total_iters, power)``."""
    length = total_steps - config.warmup_steps
    return Curve(config, base_lr, lambda t: base_lr * (1.0 - min(t, length) / length) ** config.power)


def make_warmup_stable_decay(config: sections.WarmupStableDecay, base_lr: float, total_steps: int) -> Schedule:
    """Warm-up, stable, decay (WSD): Hu et al. 2024, "MiniCPM", arXiv:2404.06395, section 4.

    The rate is held until the last ``round(decay_fraction * total_steps)`` steps (at least one, at most all after the
    warm-up). With x from 0 to 1 over those, the rate is ``base_lr * (end_factor + (1 - end_factor) * f(x))`` where f is
    ``1 - x`` (linear), ``(1 + cos(pi x)) / 2`` (cosine) or ``1 - sqrt(x)`` (sqrt: Hägele et al. 2024,
    "Scaling Laws and Compute-Optimal Training Beyond Fixed Training Durations", arXiv:2405.18392, section 3).
    """
    length = total_steps - config.warmup_steps
    decay = min(max(1, round(config.decay_fraction * total_steps)), length)
    shapes: dict[str, Callable[[float], float]] = {
        "linear": lambda x: 1.0 - x,
        "cosine": _half_cosine,
        "sqrt": lambda x: 1.0 - math.sqrt(x),
    }
    shape = shapes[config.decay_shape]

    def after(t: int) -> float:
        x = (min(t, length) - (length - decay)) / decay
        if x <= 0.0:
            return base_lr
        return base_lr * (config.end_factor + (1.0 - config.end_factor) * shape(x))

    return Curve(config, base_lr, after)


@dataclass(frozen=True)
class _Phase:
    """A stretch of the cycle up to step ``end``: rate and momentum at its start and at its end."""

    end: float
    rates: tuple[float, float]
    momenta: tuple[float, float]


class OneCycleSchedule:
    """``OneCycleLR(max_lr, total_steps, ...)``: rate and, unless switched off, momentum.

    Source: Smith and Topin 2018, arXiv:1708.07120. Like torch's, the cycled momentum takes the place of the
    optimizer's own momentum (Adam: first beta).
    """

    plateau = None

    def __init__(self, config: sections.OneCycle, base_lr: float, total_steps: int) -> None:
        highest = config.peak(base_lr)
        first = highest / config.div_factor
        last = first / config.final_div_factor
        low, high = config.base_momentum, config.max_momentum
        rise_end = config.pct_start * total_steps - 1
        self._phases = [_Phase(rise_end, (first, highest), (high, low))]
        if config.three_phase:
            self._phases.append(_Phase(2 * config.pct_start * total_steps - 2, (highest, first), (low, high)))
            self._phases.append(_Phase(total_steps - 1, (first, last), (high, high)))
        else:
            self._phases.append(_Phase(total_steps - 1, (highest, last), (low, high)))
        self._last_step = total_steps - 1
        self._cycle_momentum = config.cycle_momentum
        self._anneal = _cosine_anneal if config.anneal_strategy == "cos" else _linear_anneal

    def lr(self, step: int) -> float:
        phase, position = self._place(step)
        return self._anneal(*phase.rates, position)

    def momentum(self, step: int) -> float | None:
        if not self._cycle_momentum:
            return None
        phase, position = self._place(step)
        return self._anneal(*phase.momenta, position)

    def _place(self, step: int) -> tuple[_Phase, float]:
        """The phase ``step`` falls into and the position in it, 0 to 1."""
        step = min(step, self._last_step)
        index = next((index for index, phase in enumerate(self._phases) if step <= phase.end), len(self._phases) - 1)
        begin = self._phases[index - 1].end if index else 0.0
        phase = self._phases[index]
        # A phase without length (a rise of one step, where torch divides by zero) is at its end at once.
        position = (step - begin) / (phase.end - begin) if phase.end != begin else 1.0
        return phase, position


def _cosine_anneal(start: float, end: float, position: float) -> float:
    return end + (start - end) / 2.0 * (math.cos(math.pi * position) + 1.0)


def _linear_anneal(start: float, end: float, position: float) -> float:
    return (end - start) * position + start
