"""``[schedule]``: the learning rate over optimizer steps or epochs. The formulas are in ``training.schedules``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from training.config.fields import (
    Duration,
    DurationOrNone,
    Fraction,
    Section,
    Share,
    ShareAboveZero,
    ShareBelowOne,
    advanced,
    setting,
)

MinLr = Annotated[float, setting(title="Min LR", also="lowest rate", ge=0.0, log_scale=True)]
Gamma = Annotated[
    ShareAboveZero, setting(title="Gamma", help="The rate is multiplied by this at each drop (gamma).", also="factor")
]
EndFactor = Annotated[
    Share, setting(title="End factor", help="Share of the learning rate reached at the end of the run (end_factor).")
]


class Cadence(Section):
    """When the rate changes. A run that ends inside an epoch counts that epoch, too."""

    every: Literal["step", "epoch"] = setting(
        "step",
        "Scheduler step",
        "When the rate changes: after each optimizer step, or once per epoch, in a staircase (scheduler.step()).",
        also="cadence per epoch T_max every",
        labels={"step": "Every step", "epoch": "Every epoch"},
    )


class ScheduleSection(Section):
    """A linear warm-up, as torch's ``LinearLR``, before the schedule proper."""

    warmup: DurationOrNone = setting(
        0,
        "Warm-up",
        "How long the rate rises to the optimizer's: steps, epochs or a share of the run (LinearLR: total_iters).",
        also="warmup_steps",
    )
    warmup_start_factor: ShareAboveZero = advanced(
        0.01, "Warm-up start factor", "Share of the rate at the first warm-up step (LinearLR: start_factor)."
    )


class SteppedSection(Cadence, ScheduleSection):
    """A schedule that goes by steps or by epochs, with its warm-up."""


class Constant(SteppedSection):
    """The same rate throughout."""

    kind: Literal["constant"] = "constant"


class Linear(SteppedSection):
    """A straight line from the optimizer's rate to a share of it."""

    kind: Literal["linear"] = "linear"
    end_factor: EndFactor = 0.0


class Cosine(SteppedSection):
    """Half a cosine wave down."""

    kind: Literal["cosine"] = "cosine"
    eta_min: MinLr = setting(0.0, help="The rate at the end.")


class CosineRestarts(SteppedSection):
    """Cosine waves, each beginning again at the top."""

    kind: Literal["cosine_restarts"] = "cosine_restarts"
    t_0: Duration = setting(
        1000, "T_0", "How long until the first restart: steps, epochs or a share of the run.", also="first period"
    )
    t_mult: int = setting(
        1, "T_mult", "Each period is this many times as long as the one before.", also="period factor", ge=1, le=100
    )
    eta_min: MinLr = setting(0.0, help="The rate just before a restart.")


class OneCycle(Cadence):
    """Up to a high rate, then down to almost nothing: often the fastest for a fixed number of epochs."""

    kind: Literal["one_cycle"] = "one_cycle"
    max_lr: float | None = advanced(
        None,
        "Max LR",
        "The rate at the top, where it is not to be the optimizer's learning rate.",
        also="highest rate",
        placeholder="follows the learning rate",
        gt=0.0,
        le=100.0,
        log_scale=True,
    )
    pct_start: Fraction = setting(0.3, "Warm-up fraction", "Share of the run spent rising.", also="rising share")
    div_factor: float = advanced(
        25.0, "Div factor", "The first rate is the max LR divided by this.", also="start divisor", gt=0.0
    )
    final_div_factor: float = advanced(
        1e4, "Final div factor", "The last rate is the first over this.", also="end divisor", gt=0.0, log_scale=True
    )
    anneal_strategy: Literal["cos", "linear"] = advanced(
        "cos", "Anneal strategy", "Shape of the rise and the fall.", also="shape"
    )
    three_phase: bool = advanced(False, "Three phases", "Fall as steeply as it rose, then fade out in a third phase.")
    cycle_momentum: bool = advanced(
        True,
        "Cycle momentum",
        "Lower momentum (or Adam's first beta) while the rate is high, as torch does by default. Not said, it "
        "is off for Adagrad and Adafactor, which have none.",
    )
    base_momentum: ShareBelowOne = advanced(0.85, "Base momentum", "Momentum at the max LR.", also="lowest momentum")
    max_momentum: ShareBelowOne = advanced(
        0.95, "Max momentum", "Momentum at the lowest rate.", also="highest momentum"
    )

    def peak(self, lr: float) -> float:
        """The rate at the top, where the optimizer's is ``lr``."""
        return lr if self.max_lr is None else self.max_lr


class Step(SteppedSection):
    """Drops by a factor at a fixed interval."""

    kind: Literal["step"] = "step"
    step_size: Duration = setting(
        1000,
        "Step size",
        "How long from one drop to the next, counted from the end of the warm-up: steps, epochs or a share of the run.",
        also="every",
    )
    gamma: Gamma = 0.1


class MultiStep(SteppedSection):
    """Drops by a factor at places you name."""

    kind: Literal["multi_step"] = "multi_step"
    milestones: tuple[Duration, ...] = setting(
        (1000, 2000),
        "Milestones",
        "Where the rate drops, counted from the end of the warm-up, rising: steps, epochs or shares of the run, for example "
        "1000, 2000 or 30 epochs, 60 epochs.",
        also="at steps",
        strict=False,
        min_length=1,
    )
    gamma: Gamma = 0.1


class Exponential(SteppedSection):
    """Falls by the same factor every time, or rises by it."""

    kind: Literal["exponential"] = "exponential"
    gamma: float = setting(
        0.999,
        "Gamma",
        "The rate is multiplied by this at each step, or at each epoch where the scheduler steps every epoch (gamma). Above 1 it "
        "rises, as in a learning-rate range test.",
        also="factor range test",
        gt=0.0,
        le=10.0,
    )


class Polynomial(SteppedSection):
    """Falls to zero along a power curve."""

    kind: Literal["polynomial"] = "polynomial"
    power: float = setting(1.0, "Power", "1 is a straight line, 2 falls faster at first.", gt=0.0, le=20.0)


class WarmupStableDecay(SteppedSection):
    """Warm-up, stable, decay: holds the rate, then decays over the last stretch, so that a run can be prolonged from before it."""

    kind: Literal["wsd"] = "wsd"
    decay_fraction: ShareAboveZero = setting(
        0.2, "Decay fraction", "Share of the run spent decaying at the end.", also="decay share"
    )
    decay_shape: Literal["linear", "cosine", "sqrt"] = setting(
        "linear", "Decay shape", "Linear falls evenly, Cosine softly, 1 - sqrt steeply at first."
    )
    end_factor: EndFactor = 0.0


class Plateau(ScheduleSection):
    """Drops the rate when the monitored metric stops improving. It goes by validations, so it has no ``every``."""

    kind: Literal["plateau"] = "plateau"
    factor: Fraction = setting(0.1, "Factor", "The rate is multiplied by this when no progress is seen.")
    patience: int = setting(
        10, "Patience", "Validations without progress to wait before a drop.", unit="validations", ge=0
    )
    threshold: float = advanced(1e-4, "Threshold", "Relative change that counts as progress.", ge=0.0, log_scale=True)
    cooldown: int = advanced(0, "Cooldown", "Validations to wait after a drop.", unit="validations", ge=0)
    min_lr: MinLr = setting(0.0, help="The rate never falls below this.")

    @model_validator(mode="before")
    @classmethod
    def _goes_by_validations(cls, data: Any) -> Any:
        if isinstance(data, dict) and "every" in data:
            raise PydanticCustomError(
                "cadence", "a plateau goes by validations, neither by steps nor by epochs; leave this setting out."
            )
        return data


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
