"""``[schedule]``: the learning rate over optimizer steps. The formulas are in ``training.schedules``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from training.config.fields import Count, Fraction, Section, Share, ShareAboveZero, ShareBelowOne, advanced, setting

MinLr = Annotated[float, setting(title="Min LR", also="lowest rate", ge=0.0, log_scale=True)]
Gamma = Annotated[
    ShareAboveZero, setting(title="Gamma", help="The rate is multiplied by this at each drop (gamma).", also="factor")
]
EndFactor = Annotated[
    Share, setting(title="End factor", help="Share of the learning rate reached at the end of the run (end_factor).")
]


class ScheduleSection(Section):
    """A linear warm-up, as torch's ``LinearLR``, before the schedule proper."""

    warmup_steps: int = setting(
        0,
        "Warm-up steps",
        "Steps in which the rate rises to the optimizer's (LinearLR: total_iters).",
        unit="steps",
        ge=0,
    )
    warmup_start_factor: ShareAboveZero = advanced(
        0.01, "Warm-up start factor", "Share of the rate at the first warm-up step (LinearLR: start_factor)."
    )


class Constant(ScheduleSection):
    """The same rate throughout."""

    kind: Literal["constant"] = "constant"


class Linear(ScheduleSection):
    """A straight line from the optimizer's rate to a share of it."""

    kind: Literal["linear"] = "linear"
    end_factor: EndFactor = 0.0


class Cosine(ScheduleSection):
    """Half a cosine wave down."""

    kind: Literal["cosine"] = "cosine"
    eta_min: MinLr = setting(0.0, help="The rate at the end.")


class CosineRestarts(ScheduleSection):
    """Cosine waves, each beginning again at the top."""

    kind: Literal["cosine_restarts"] = "cosine_restarts"
    t_0: Count = setting(1000, "T_0", "Steps until the first restart.", also="first period", unit="steps")
    t_mult: int = setting(
        1, "T_mult", "Each period is this many times as long as the one before.", also="period factor", ge=1, le=100
    )
    eta_min: MinLr = setting(0.0, help="The rate just before a restart.")


class OneCycle(Section):
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
    pct_start: Fraction = setting(0.3, "Warm-up fraction", "Share of all steps spent rising.", also="rising share")
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


class Step(ScheduleSection):
    """Drops by a factor at a fixed interval."""

    kind: Literal["step"] = "step"
    step_size: Count = setting(
        1000, "Step size", "Steps between two drops, counted from the end of the warm-up.", also="every", unit="steps"
    )
    gamma: Gamma = 0.1


class MultiStep(ScheduleSection):
    """Drops by a factor at steps you name."""

    kind: Literal["multi_step"] = "multi_step"
    milestones: tuple[Annotated[int, Field(ge=1)], ...] = setting(
        (1000, 2000),
        "Milestones",
        "Steps after the warm-up at which the rate drops, rising, for example 1000, 2000.",
        also="at steps",
        strict=False,
        min_length=1,
    )
    gamma: Gamma = 0.1


class Exponential(ScheduleSection):
    """Falls by the same factor at every step."""

    kind: Literal["exponential"] = "exponential"
    gamma: Gamma = setting(0.999, help="The rate is multiplied by this at each step.")


class Polynomial(ScheduleSection):
    """Falls to zero along a power curve."""

    kind: Literal["polynomial"] = "polynomial"
    power: float = setting(1.0, "Power", "1 is a straight line, 2 falls faster at first.", gt=0.0, le=20.0)


class WarmupStableDecay(ScheduleSection):
    """Warm-up, stable, decay: holds the rate, then decays over the last stretch, so that a run can be prolonged from before it."""

    kind: Literal["wsd"] = "wsd"
    decay_fraction: ShareAboveZero = setting(
        0.2, "Decay fraction", "Share of all steps spent decaying at the end.", also="decay share"
    )
    decay_shape: Literal["linear", "cosine", "sqrt"] = setting(
        "linear", "Decay shape", "Linear falls evenly, Cosine softly, 1 - sqrt steeply at first."
    )
    end_factor: EndFactor = 0.0


class Plateau(ScheduleSection):
    """Drops the rate when the monitored metric stops improving."""

    kind: Literal["plateau"] = "plateau"
    factor: Fraction = setting(0.1, "Factor", "The rate is multiplied by this when no progress is seen.")
    patience: int = setting(
        10, "Patience", "Validations without progress to wait before a drop.", unit="validations", ge=0
    )
    threshold: float = advanced(1e-4, "Threshold", "Relative change that counts as progress.", ge=0.0, log_scale=True)
    cooldown: int = advanced(0, "Cooldown", "Validations to wait after a drop.", unit="validations", ge=0)
    min_lr: MinLr = setting(0.0, help="The rate never falls below this.")


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
