"""What a schedule does, in words."""

from __future__ import annotations

from training.config.rules.schedule_problems import goes_by_epochs
from training.config.sections import schedule as sections
from training.core.durations import read_duration
from training.errors import pluralize
from training.schedules.schedule import ScheduleConfig


def describe(config: ScheduleConfig, lr: float) -> str:
    """What the schedule does with the optimizer's rate ``lr``, in one sentence for the panel."""
    text = _shape_in_words(config, lr)
    if goes_by_epochs(config) and not isinstance(config, sections.Exponential):
        text += ", changing once per epoch"
    if isinstance(config, sections.ScheduleSection) and read_duration(config.warmup)[0]:
        warmup = _in_words(config.warmup)
        return f"Rises over {warmup} from {config.warmup_start_factor:.3g} of the rate, then {text}."
    return f"{text[0].upper()}{text[1:]}."


def _in_words(duration: int | str) -> str:
    """``3 epochs``, ``300 steps``, ``5 % of the run``"""
    number, unit = read_duration(duration)
    if unit == "%":
        return f"{number:g} % of the run"
    return pluralize(int(number), unit) if float(number).is_integer() else f"{number:g} {unit}s"


def _shape_in_words(config: ScheduleConfig, lr: float) -> str:
    match config:
        case sections.OneCycle():
            tail = ", falls as steeply and fades out" if config.three_phase else ", then falls to almost nothing"
            return f"rises to {config.peak(lr):g} over the first {config.pct_start:.0%} of the run{tail}"
        case sections.Constant():
            return f"stays at {lr:g}"
        case sections.Linear():
            return f"falls in a straight line from {lr:g} to {lr * config.end_factor:.3g}"
        case sections.Cosine():
            return f"falls along half a cosine wave to {config.eta_min:g}"
        case sections.CosineRestarts():
            growth = "" if config.t_mult == 1 else f", each period {config.t_mult} times as long as the one before"
            return f"falls along a cosine to {config.eta_min:g} and starts again after {_in_words(config.t_0)}{growth}"
        case sections.Step():
            return f"is multiplied by {config.gamma:g} every {_in_words(config.step_size)}"
        case sections.MultiStep():
            where, last = ", ".join(map(str, config.milestones)), len(config.milestones) > 1
            at = f"step{'s' * last} {where}" if all(isinstance(each, int) for each in config.milestones) else where
            return f"is multiplied by {config.gamma:g} at {at}"
        case sections.Exponential():
            return f"is multiplied by {config.gamma:g} at every {config.every}"
        case sections.Polynomial():
            return f"falls to zero along a curve of power {config.power:g}"
        case sections.WarmupStableDecay():
            return (
                f"holds {lr:g} and decays over the last {config.decay_fraction:.0%} of the run "
                f"to {config.end_factor:.3g} of it ({config.decay_shape})"
            )
        case sections.Plateau():
            progress = (
                "any progress" if config.threshold == 0.0 else f"progress of {config.threshold:.2g} or more of the best"
            )
            rest = f", then waits for {pluralize(config.cooldown, 'validation')}" if config.cooldown else ""
            return (
                f"holds {lr:g} and multiplies it by {config.factor:g} after more than "
                f"{pluralize(config.patience, 'validation')} without {progress}{rest}; at the lowest it is {config.min_lr:g}"
            )
    raise TypeError(f"no words for {type(config).__name__}")
