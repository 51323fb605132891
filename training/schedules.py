"""The learning rate as a pure function of the attempted optimizer step.

``lr(0)`` is the rate the first step uses. Each schedule equals torch's class of that name stepped once after every
optimizer step. After a warm-up of W steps the schedule proper sees ``t = step - W`` and has ``total_steps - W`` steps
to lay itself out over: that is torch's ``T_max`` or ``total_iters``. As in torch, the low end would be reached at step
``total_steps``, so the last real step lies one before it; ``OneCycleLR`` alone reaches its end at the last step itself.
Past the end the last value is held.

No torch here: the window draws the curve with these functions.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from training import catalog
from training.config import RunConfig
from training.config import schedule as sections
from training.errors import ConfigError, Problem

ScheduleConfig = sections.ScheduleSection | sections.OneCycle


@runtime_checkable
class Schedule(Protocol):
    """Rate (and momentum) at each attempted optimizer step."""

    @property
    def plateau(self) -> PlateauState | None:
        """The few numbers a plateau schedule remembers; None for every other kind."""

    def lr(self, step: int) -> float:
        """The learning rate that step ``step`` (0 = first) uses."""

    def momentum(self, step: int) -> float | None:
        """The momentum (Adam: first beta) of that step; None leaves the optimizer's own."""


def make_schedule(config: ScheduleConfig, base_lr: float, total_steps: int) -> Schedule:
    """The schedule ``config`` describes, for a run of ``total_steps`` optimizer steps at the optimizer's ``base_lr``.

    Raises ConfigError when the warm-up is not shorter than the run.
    """
    if total_steps < 1:
        raise ValueError(f"total_steps must be at least 1, but is {total_steps}")
    if isinstance(config, sections.ScheduleSection) and config.warmup_steps >= total_steps:
        raise ConfigError(
            [
                Problem(
                    "schedule.warmup_steps",
                    f"the warm-up of {config.warmup_steps} steps must be shorter than the run, which has {total_steps}; "
                    "shorten the warm-up or train longer.",
                )
            ]
        )
    make: Callable[[ScheduleConfig, float, int], Schedule] = catalog.resolve(catalog.entry("schedule", _kind(config)))
    return make(config, base_lr, total_steps)


def make_run_schedule(config: RunConfig, total_steps: int) -> Schedule:
    """``make_schedule`` for all that a run's settings say, the rate of SWA included."""
    schedule = make_schedule(config.schedule, config.optimizer.lr, total_steps)
    if config.loop.swa_start is None or config.loop.swa_lr is None:
        return schedule
    return Held(schedule, swa_first(config.loop.swa_start, total_steps), config.loop.swa_lr)


def swa_first(swa_start: float, total_steps: int) -> int:
    """The step (0 = first) from which on SWA's rate is used, and behind which weights are averaged."""
    return math.floor(swa_start * total_steps)


@dataclass(frozen=True)
class Held:
    """``before`` up to step ``first``, then ``rate`` at every step, as torch's ``SWALR`` with ``anneal_epochs=0``."""

    before: Schedule
    first: int
    rate: float

    @property
    def plateau(self) -> PlateauState | None:
        return self.before.plateau

    def lr(self, step: int) -> float:
        return self.rate if step >= self.first else self.before.lr(step)

    def momentum(self, step: int) -> float | None:
        return self.before.momentum(step)


def _kind(config: ScheduleConfig) -> str:
    return str(type(config).model_fields["kind"].default)


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
            return self.base_lr * _warmup_factor(self.config, step)
        return self.after(step - self.config.warmup_steps)

    def momentum(self, step: int) -> float | None:
        return None


def _warmup_factor(config: sections.ScheduleSection, step: int) -> float:
    if step >= config.warmup_steps:
        return 1.0
    return config.warmup_start_factor + (1.0 - config.warmup_start_factor) * step / config.warmup_steps


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
        highest = base_lr if config.max_lr is None else config.max_lr
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


class PlateauState:
    """What ``ReduceLROnPlateau(threshold_mode="rel")`` remembers: the only state any schedule has.

    ``factor``: share of the optimizer's rate now in force. ``best``: best metric so far, None before the first.
    ``bad_validations``: validations without progress. ``cooldown_left``: validations still to wait after a drop.
    """

    _SMALLEST_CHANGE = 1e-8  # ReduceLROnPlateau's eps: a smaller drop is not made

    def __init__(self, config: sections.Plateau, base_lr: float) -> None:
        self._config = config
        self._base_lr = base_lr
        self.factor = 1.0
        self.best: float | None = None
        self.bad_validations = 0
        self.cooldown_left = 0

    def update(self, metric: float, maximize: bool) -> bool:
        """Take in one validation's ``metric``; True when the rate fell. NaN counts as no progress."""
        if self._is_better(metric, maximize):
            self.best = metric
            self.bad_validations = 0
        else:
            self.bad_validations += 1
        if self.cooldown_left > 0:
            self.cooldown_left -= 1
            self.bad_validations = 0
        if self.bad_validations <= self._config.patience:
            return False
        self.cooldown_left = self._config.cooldown
        self.bad_validations = 0
        return self._drop()

    def _is_better(self, metric: float, maximize: bool) -> bool:
        threshold = self._config.threshold
        if maximize:
            return metric > (-math.inf if self.best is None else self.best) * (threshold + 1.0)
        return metric < (math.inf if self.best is None else self.best) * (1.0 - threshold)

    def _drop(self) -> bool:
        old = self._base_lr * self.factor
        new = max(old * self._config.factor, self._config.min_lr)
        if old - new <= self._SMALLEST_CHANGE:
            return False
        self.factor = new / self._base_lr
        return True

    def state(self) -> dict[str, float]:
        """The numbers to save; ``best`` is left out until there is one."""
        numbers: dict[str, float] = {
            "factor": self.factor,
            "bad_validations": self.bad_validations,
            "cooldown_left": self.cooldown_left,
        }
        if self.best is not None:
            numbers["best"] = self.best
        return numbers

    def load(self, numbers: Mapping[str, float]) -> None:
        """Go on from ``state()``."""
        self.factor = float(numbers["factor"])
        self.bad_validations = int(numbers["bad_validations"])
        self.cooldown_left = int(numbers["cooldown_left"])
        self.best = float(numbers["best"]) if "best" in numbers else None


class PlateauSchedule:
    """The warm-up, then the optimizer's rate times ``plateau.factor``, which falls by ``plateau.update``."""

    def __init__(self, config: sections.Plateau, base_lr: float, total_steps: int) -> None:
        self._config = config
        self._base_lr = base_lr
        self.plateau = PlateauState(config, base_lr)

    def lr(self, step: int) -> float:
        return self._base_lr * _warmup_factor(self._config, step) * self.plateau.factor

    def momentum(self, step: int) -> float | None:
        return None


def describe(config: ScheduleConfig) -> str:
    """What the schedule does, in one sentence for the panel."""
    text = _shape_in_words(config)
    if isinstance(config, sections.ScheduleSection) and config.warmup_steps:
        steps = "1 step" if config.warmup_steps == 1 else f"{config.warmup_steps:,} steps"
        return f"Rises over {steps} from {config.warmup_start_factor:.3g} of the rate, then {text}."
    return f"{text[0].upper()}{text[1:]}."


def _shape_in_words(config: ScheduleConfig) -> str:
    match config:
        case sections.OneCycle():
            top = "the optimizer's rate" if config.max_lr is None else f"{config.max_lr:g}"
            tail = ", falls as steeply and fades out" if config.three_phase else ", then falls to almost nothing"
            return f"rises to {top} over the first {config.pct_start:.0%} of the run{tail}"
        case sections.Constant():
            return "stays at the optimizer's rate"
        case sections.Linear():
            return f"falls in a straight line to {config.end_factor:.3g} of the optimizer's rate"
        case sections.Cosine():
            return f"falls along half a cosine wave to {config.eta_min:g}"
        case sections.CosineRestarts():
            growth = "" if config.t_mult == 1 else f", each period {config.t_mult} times as long as the one before"
            return f"falls along a cosine to {config.eta_min:g} and starts again after {config.t_0:,} steps{growth}"
        case sections.Step():
            return f"is multiplied by {config.gamma:g} every {config.step_size:,} steps"
        case sections.MultiStep():
            where = ", ".join(str(step) for step in config.milestones)
            return f"is multiplied by {config.gamma:g} at step{'s' if len(config.milestones) > 1 else ''} {where}"
        case sections.Exponential():
            return f"is multiplied by {config.gamma:g} at every step"
        case sections.Polynomial():
            return f"falls to zero along a curve of power {config.power:g}"
        case sections.WarmupStableDecay():
            return (
                f"holds the optimizer's rate and decays over the last {config.decay_fraction:.0%} of the run "
                f"to {config.end_factor:.3g} of it ({config.decay_shape})"
            )
        case sections.Plateau():
            return (
                f"holds the optimizer's rate and multiplies it by {config.factor:g} after more than {config.patience} "
                f"validations without progress, down to {config.min_lr:g} at the lowest"
            )
    raise TypeError(f"no words for {type(config).__name__}")
