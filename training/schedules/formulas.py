"""The schedules of the catalog: settings handed to the formulas of ``training.core.schedules``, in steps or, where the schedule
goes by epochs, in epochs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from training.config.sections import schedule as sections
from training.core import schedules as core
from training.schedules.plateau import PlateauState
from training.schedules.schedule import Schedule, Span

DECAY_SHAPES = {"linear": core.straight, "cosine": core.half_cosine, "sqrt": core.square_root}
ANNEALS = {"linear": core.anneal_linear, "cos": core.anneal_cosine}


def _warm_up(config: sections.ScheduleSection, base_lr: float, span: Span, after: Callable[[int], float]) -> Schedule:
    """A warm-up, then ``after(t)``, the rate t steps after its end, joined as ``SequentialLR([LinearLR, ...],
    milestones=[warmup])`` joins them."""
    warmup, start = span.count(config.warmup), config.warmup_start_factor

    def lr(step: int) -> float:
        return base_lr * core.linear_warmup(step, warmup, start) if step < warmup else after(step - warmup)

    return Schedule(lr)


def make_constant(config: sections.Constant, base_lr: float, span: Span) -> Schedule:
    """``ConstantLR(factor=1)``."""
    return _warm_up(config, base_lr, span, lambda t: base_lr)


def make_linear(config: sections.Linear, base_lr: float, span: Span) -> Schedule:
    """A line down to ``end_factor``."""
    length = span.total - span.count(config.warmup)
    return _warm_up(config, base_lr, span, lambda t: core.linear_decay(t, length, base_lr, config.end_factor))


def make_cosine(config: sections.Cosine, base_lr: float, span: Span) -> Schedule:
    """Half a cosine wave down to ``eta_min``."""
    length = span.total - span.count(config.warmup)
    return _warm_up(config, base_lr, span, lambda t: core.cosine_annealing(t, length, base_lr, config.eta_min))


def make_cosine_restarts(config: sections.CosineRestarts, base_lr: float, span: Span) -> Schedule:
    """Half cosine waves down, each after a jump back to the top."""
    t_0 = span.count(config.t_0)
    waves = partial(core.cosine_warm_restarts, t_0=t_0, t_mult=config.t_mult, lr=base_lr, eta_min=config.eta_min)
    return _warm_up(config, base_lr, span, waves)


def make_step(config: sections.Step, base_lr: float, span: Span) -> Schedule:
    """Drops at regular steps; ``step_size`` counts from the end of the warm-up."""
    step_size = span.count(config.step_size)
    return _warm_up(config, base_lr, span, lambda t: core.step_decay(t, step_size, base_lr, config.gamma))


def make_multi_step(config: sections.MultiStep, base_lr: float, span: Span) -> Schedule:
    """Drops at the milestones, which count from the end of the warm-up."""
    milestones = [span.count(each) for each in config.milestones]
    return _warm_up(config, base_lr, span, lambda t: core.multi_step_decay(t, milestones, base_lr, config.gamma))


def make_exponential(config: sections.Exponential, base_lr: float, span: Span) -> Schedule:
    """A little lower at every step."""
    return _warm_up(config, base_lr, span, lambda t: core.exponential_decay(t, base_lr, config.gamma))


def make_polynomial(config: sections.Polynomial, base_lr: float, span: Span) -> Schedule:
    """A power of what is left of the run."""
    length = span.total - span.count(config.warmup)
    return _warm_up(config, base_lr, span, lambda t: core.polynomial_decay(t, length, base_lr, config.power))


def make_warmup_stable_decay(config: sections.WarmupStableDecay, base_lr: float, span: Span) -> Schedule:
    """Warm-up, stable, decay (WSD): the decay takes the last ``round(decay_fraction * total_steps)`` steps, at least one, at most
    all after the warm-up."""
    length = span.total - span.count(config.warmup)
    decay, shape = core.decay_steps(config.decay_fraction, span.total, length), DECAY_SHAPES[config.decay_shape]
    return _warm_up(
        config, base_lr, span, lambda t: core.stable_decay(t, length, decay, base_lr, config.end_factor, shape)
    )


def make_one_cycle(config: sections.OneCycle, base_lr: float, span: Span) -> Schedule:
    """``OneCycleLR``: rate and, unless switched off, momentum. Like torch's, the cycled momentum takes the place of the
    optimizer's own (Adam: first beta)."""
    highest = config.peak(base_lr)
    first = highest / config.div_factor
    last = first / config.final_div_factor
    low, high = config.base_momentum, config.max_momentum
    rates: tuple[float, ...] = (first, highest, last)
    momenta: tuple[float, ...] = (high, low, high)
    if config.three_phase:
        rates, momenta = (first, highest, first, last), (high, low, high, high)

    def course(values: tuple[float, ...]) -> Callable[[int], float]:
        anneal = ANNEALS[config.anneal_strategy]
        return lambda step: core.one_cycle(step, span.total, config.pct_start, values, anneal)

    return Schedule(course(rates), course(momenta)) if config.cycle_momentum else Schedule(course(rates))


def make_plateau(config: sections.Plateau, base_lr: float, span: Span) -> Schedule:
    """The warm-up, then the optimizer's rate times ``plateau.factor``, which falls by ``plateau.update``."""
    plateau, warmup, start = PlateauState(config, base_lr), span.count(config.warmup), config.warmup_start_factor
    return Schedule(lambda step: base_lr * core.linear_warmup(step, warmup, start) * plateau.factor, plateau=plateau)
