"""The schedules of the catalog: settings handed to the formulas of ``training.core.schedules``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from training.config import schedule as sections
from training.core import schedules as core
from training.schedules.schedule import Schedule

DECAY_SHAPES = {"linear": core.straight, "cosine": core.half_cosine, "sqrt": core.square_root}
ANNEALS = {"linear": core.anneal_linear, "cos": core.anneal_cosine}


@dataclass(frozen=True)
class Curve:
    """A warm-up, then ``after(t)``: the rate t steps after its end.

    They are joined as ``SequentialLR([LinearLR, ...], milestones=[warmup_steps])`` joins them.
    """

    config: sections.ScheduleSection
    base_lr: float
    after: Callable[[int], float]

    plateau = None

    def lr(self, step: int) -> float:
        warmup = self.config.warmup_steps
        if step < warmup:
            return self.base_lr * core.linear_warmup(step, warmup, self.config.warmup_start_factor)
        return self.after(step - warmup)

    def momentum(self, step: int) -> float | None:
        return None


def make_constant(config: sections.Constant, base_lr: float, total_steps: int) -> Schedule:
    """``ConstantLR(factor=1)``."""
    return Curve(config, base_lr, lambda t: base_lr)


def make_linear(config: sections.Linear, base_lr: float, total_steps: int) -> Schedule:
    """A line down to ``end_factor``."""
    length = total_steps - config.warmup_steps
    return Curve(config, base_lr, lambda t: core.linear_decay(t, length, base_lr, config.end_factor))


def make_cosine(config: sections.Cosine, base_lr: float, total_steps: int) -> Schedule:
    """Half a cosine wave down to ``eta_min``."""
    length = total_steps - config.warmup_steps
    return Curve(config, base_lr, lambda t: core.cosine_annealing(t, length, base_lr, config.eta_min))


def make_cosine_restarts(config: sections.CosineRestarts, base_lr: float, total_steps: int) -> Schedule:
    """Half cosine waves down, each after a jump back to the top."""
    return Curve(
        config, base_lr, lambda t: core.cosine_warm_restarts(t, config.t_0, config.t_mult, base_lr, config.eta_min)
    )


def make_step(config: sections.Step, base_lr: float, total_steps: int) -> Schedule:
    """Drops at regular steps; ``step_size`` counts from the end of the warm-up."""
    return Curve(config, base_lr, lambda t: core.step_decay(t, config.step_size, base_lr, config.gamma))


def make_multi_step(config: sections.MultiStep, base_lr: float, total_steps: int) -> Schedule:
    """Drops at the milestones, which count from the end of the warm-up."""
    return Curve(config, base_lr, lambda t: core.multi_step_decay(t, config.milestones, base_lr, config.gamma))


def make_exponential(config: sections.Exponential, base_lr: float, total_steps: int) -> Schedule:
    """A little lower at every step."""
    return Curve(config, base_lr, lambda t: core.exponential_decay(t, base_lr, config.gamma))


def make_polynomial(config: sections.Polynomial, base_lr: float, total_steps: int) -> Schedule:
    """A power of what is left of the run."""
    length = total_steps - config.warmup_steps
    return Curve(config, base_lr, lambda t: core.polynomial_decay(t, length, base_lr, config.power))


def make_warmup_stable_decay(config: sections.WarmupStableDecay, base_lr: float, total_steps: int) -> Schedule:
    """Warm-up, stable, decay (WSD): the decay takes the last ``round(decay_fraction * total_steps)`` steps, at least one, at most
    all after the warm-up."""
    length = total_steps - config.warmup_steps
    decay, shape = core.decay_steps(config.decay_fraction, total_steps, length), DECAY_SHAPES[config.decay_shape]
    return Curve(config, base_lr, lambda t: core.stable_decay(t, length, decay, base_lr, config.end_factor, shape))


class OneCycleSchedule:
    """``OneCycleLR``: rate and, unless switched off, momentum. Like torch's, the cycled momentum takes the place of the
    optimizer's own (Adam: first beta)."""

    plateau = None

    def __init__(self, config: sections.OneCycle, base_lr: float, total_steps: int) -> None:
        highest = config.peak(base_lr)
        first = highest / config.div_factor
        last = first / config.final_div_factor
        low, high = config.base_momentum, config.max_momentum
        self._length = total_steps, config.pct_start
        self._rates: tuple[float, ...] = (first, highest, last)
        self._momenta: tuple[float, ...] = (high, low, high)
        if config.three_phase:
            self._rates, self._momenta = (first, highest, first, last), (high, low, high, high)
        self._cycle_momentum = config.cycle_momentum
        self._anneal = ANNEALS[config.anneal_strategy]

    def lr(self, step: int) -> float:
        return core.one_cycle(step, *self._length, self._rates, self._anneal)

    def momentum(self, step: int) -> float | None:
        return core.one_cycle(step, *self._length, self._momenta, self._anneal) if self._cycle_momentum else None
