"""``[schedule]``: the learning rate over optimizer steps. The formulas are in ``training.schedules``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from training.config.fields import Section, setting


class ScheduleSection(Section):
    """A linear warm-up, as torch's ``LinearLR``, before the schedule proper."""

    warmup_steps: int = setting(
        0,
        title="Warm-up",
        help="Steps over which the rate rises in a straight line to the optimizer's rate.",
        unit="steps",
        ge=0,
    )
    warmup_start_factor: float = setting(
        0.01, title="Warm-up start", help="Share of the rate at the first warm-up step.", advanced=True, gt=0.0, le=1.0
    )


class Constant(ScheduleSection):
    """The same rate throughout."""

    kind: Literal["constant"] = "constant"


class Linear(ScheduleSection):
    """A straight line from the optimizer's rate to a share of it (``LinearLR``)."""

    kind: Literal["linear"] = "linear"
    end_factor: float = setting(
        0.0, title="End factor", help="Share of the rate reached at the end of the run.", ge=0.0, le=1.0
    )


class Cosine(ScheduleSection):
    """Half a cosine wave down (``CosineAnnealingLR``)."""

    kind: Literal["cosine"] = "cosine"
    eta_min: float = setting(0.0, title="Lowest rate", help="The rate at the end.", ge=0.0, log_scale=True)


class CosineRestarts(ScheduleSection):
    """Cosine waves, each beginning again at the top (``CosineAnnealingWarmRestarts``)."""

    kind: Literal["cosine_restarts"] = "cosine_restarts"
    t_0: int = setting(1000, title="First period", help="Steps until the first restart.", unit="steps", ge=1)
    t_mult: int = setting(
        1, title="Period factor", help="Each period is this many times as long as the one before.", ge=1, le=100
    )
    eta_min: float = setting(0.0, title="Lowest rate", help="The rate just before a restart.", ge=0.0, log_scale=True)


class OneCycle(Section):
    """Up to a high rate, then down to almost nothing (``OneCycleLR``): often the fastest for a fixed number of epochs."""

    kind: Literal["one_cycle"] = "one_cycle"
    max_lr: float | None = setting(
        None,
        title="Highest rate",
        help="The rate at the top, where it is not to be the optimizer's learning rate.",
        placeholder="follows the learning rate",
        advanced=True,
        gt=0.0,
        le=100.0,
        log_scale=True,
    )
    pct_start: float = setting(0.3, title="Rising share", help="Share of all steps spent rising.", gt=0.0, lt=1.0)
    div_factor: float = setting(
        25.0, title="Start divisor", help="The first rate is the highest divided by this.", advanced=True, gt=0.0
    )
    final_div_factor: float = setting(
        1e4,
        title="End divisor",
        help="The last rate is the first divided by this.",
        advanced=True,
        gt=0.0,
        log_scale=True,
    )
    anneal_strategy: Literal["cos", "linear"] = setting(
        "cos", title="Shape", help="Shape of the rise and the fall.", advanced=True
    )
    three_phase: bool = setting(
        False, title="Three phases", help="Fall as steeply as it rose, then fade out in a third phase.", advanced=True
    )
    cycle_momentum: bool = setting(
        True,
        title="Cycle momentum",
        help="Lower momentum (or Adam's first beta) while the rate is high, as torch does by default. Not said, it "
        "is off for Adagrad and Adafactor, which have none.",
        advanced=True,
    )
    base_momentum: float = setting(
        0.85, title="Lowest momentum", help="Momentum at the highest rate.", advanced=True, ge=0.0, lt=1.0
    )
    max_momentum: float = setting(
        0.95, title="Highest momentum", help="Momentum at the lowest rate.", advanced=True, ge=0.0, lt=1.0
    )

    def peak(self, lr: float) -> float:
        """The rate at the top, where the optimizer's is ``lr``."""
        return lr if self.max_lr is None else self.max_lr


class Step(ScheduleSection):
    """Multiply by a factor every so many steps (``StepLR``)."""

    kind: Literal["step"] = "step"
    step_size: int = setting(
        1000, title="Every", help="Steps between two drops, counted from the end of the warm-up.", unit="steps", ge=1
    )
    gamma: float = setting(0.1, title="Factor", help="The rate is multiplied by this at each drop.", gt=0.0, le=1.0)


class MultiStep(ScheduleSection):
    """Multiply by a factor at given steps (``MultiStepLR``)."""

    kind: Literal["multi_step"] = "multi_step"
    milestones: tuple[Annotated[int, Field(ge=1)], ...] = setting(
        (1000, 2000),
        title="At steps",
        help="Steps after the warm-up at which the rate drops, rising, for example 1000, 2000.",
        strict=False,
        min_length=1,
    )
    gamma: float = setting(0.1, title="Factor", help="The rate is multiplied by this at each drop.", gt=0.0, le=1.0)


class Exponential(ScheduleSection):
    """Multiply by a factor at every step (``ExponentialLR``)."""

    kind: Literal["exponential"] = "exponential"
    gamma: float = setting(0.999, title="Factor", help="The rate is multiplied by this at each step.", gt=0.0, le=1.0)


class Polynomial(ScheduleSection):
    """Fall to zero along a power curve (``PolynomialLR``)."""

    kind: Literal["polynomial"] = "polynomial"
    power: float = setting(1.0, title="Power", help="1 is a straight line, 2 falls faster at first.", gt=0.0, le=20.0)


class WarmupStableDecay(ScheduleSection):
    """Warm up, hold, then decay over the last stretch (WSD)."""

    kind: Literal["wsd"] = "wsd"
    decay_fraction: float = setting(
        0.2, title="Decay share", help="Share of all steps spent decaying at the end.", gt=0.0, le=1.0
    )
    decay_shape: Literal["linear", "cosine", "sqrt"] = setting(
        "linear", title="Decay shape", help="linear falls evenly, cosine softly, sqrt steeply at first (1 - sqrt)."
    )
    end_factor: float = setting(
        0.0, title="End factor", help="Share of the rate reached at the end of the run.", ge=0.0, le=1.0
    )


class Plateau(ScheduleSection):
    """Drop the rate when the monitored metric stops improving (``ReduceLROnPlateau``)."""

    kind: Literal["plateau"] = "plateau"
    factor: float = setting(
        0.1, title="Factor", help="The rate is multiplied by this when no progress is seen.", gt=0.0, lt=1.0
    )
    patience: int = setting(
        10, title="Patience", help="Validations without progress to wait before a drop.", unit="validations", ge=0
    )
    threshold: float = setting(
        1e-4, title="Threshold", help="Relative change that counts as progress.", advanced=True, ge=0.0, log_scale=True
    )
    cooldown: int = setting(
        0, title="Cool-down", help="Validations to wait after a drop.", unit="validations", advanced=True, ge=0
    )
    min_lr: float = setting(0.0, title="Lowest rate", help="The rate never falls below this.", ge=0.0, log_scale=True)


Schedule = Annotated[
    OneCycle
    | Constant
    | Linear
    | Cosine
    | CosineRestarts
    | Step
    | MultiStep
    | Exponential
    | Polynomial
    | WarmupStableDecay
    | Plateau,
    Field(discriminator="kind"),
]
