"""What there is to say of the learning rate, its schedule and regularization, before a step is made."""

from __future__ import annotations

from pydantic import JsonValue

from training.config import RunConfig
from training.config.rules.inactive_settings import find_inactive
from training.config.sections.optimizer import Optimizer
from training.events import Finding, FindingLevel
from training.findings.settings import (
    ADAPTIVE_RATES,
    DECAYED_BY,
    DECAYED_SHARE,
    ENDS_HIGH,
    FAR,
    LENGTH,
    LONG_WARMUP,
    MOST_DECAY,
    MOST_DROPOUT,
    MOST_SHRINKING,
    MOST_SMOOTHING,
    REGULARIZED,
    SGD_RATES,
    TOO_LONG_WARMUP,
    UNUSUAL_RATE,
)
from training.schedules import make_run_schedule

_BANDS = {**dict.fromkeys(("adamw", "adam", "nadam", "radam", "rmsprop"), ADAPTIVE_RATES), "sgd": SGD_RATES}
_LOOKED_AT = 2_000
_MEANT = ("constant", "plateau", "cosine_restarts", "one_cycle")
"""Schedules that neither fall once nor have a warm-up to judge."""


def setting_findings(config: RunConfig, total_steps: int, steps_per_epoch: int) -> list[Finding]:
    """Of a run of so many optimizer steps."""
    schedule = make_run_schedule(config, total_steps, steps_per_epoch)
    count = min(total_steps, _LOOKED_AT)
    steps = sorted({*(number * total_steps // count for number in range(count)), total_steps - 1})
    rates = [schedule.lr(step) for step in steps]
    return [
        *_rate(config, max(rates)),
        *_length(config, steps, rates, total_steps),
        *_regularization(config, max(rates)),
    ]


def _rate(config: RunConfig, peak: float) -> list[Finding]:
    optimizer = config.optimizer
    band = _BANDS.get(optimizer.kind)
    if band is None or band[0] <= peak <= band[1]:
        return []
    usual = type(optimizer)().lr
    high = peak > band[1]
    low = band[0] / FAR if getattr(config.model, "pretrained", None) else band[0]
    far = peak >= FAR * band[1] if high else peak <= low / FAR
    fix: dict[str, float | None] = {"optimizer.lr": usual}
    if getattr(config.schedule, "max_lr", None) is not None:
        fix["schedule.max_lr"] = None
    title = (
        f"The learning rate reaches {peak:g}; {optimizer.kind} usually works between {band[0]:g} and {band[1]:g}: "
        f"{'training may diverge' if high else 'the weights will hardly move'}."
    )
    evidence = {"peak": peak, "low": band[0], "high": band[1]}
    level: FindingLevel = "warning" if far else "info"
    return [UNUSUAL_RATE.find(level, title, f"Begin with {usual:g}.", evidence=evidence, fix=fix if far else {})]


def _length(config: RunConfig, steps: list[int], rates: list[float], total: int) -> list[Finding]:
    kind, peak = config.schedule.kind, max(rates)
    if kind in _MEANT or len(rates) < 10 or peak <= 0:
        return []
    top = max(place for place, rate in enumerate(rates) if rate >= peak * (1 - 1e-9))
    first = next(place for place, rate in enumerate(rates) if rate >= peak * (1 - 1e-9))
    if top == len(rates) - 1 and rates[-1] > rates[-2]:
        title = "The learning rate still rises at the last step: warm-up is longer than the run."
        return [
            LENGTH.find(
                "warning", title, place="schedule.warmup", evidence={"steps": total}, fix={"schedule.warmup": "5 %"}
            )
        ]
    low = next((place for place in range(top, len(rates)) if max(rates[place:]) <= DECAYED_SHARE * peak), len(rates))
    found = []
    if low < DECAYED_BY * len(rates):
        share = steps[low] / total
        title = (
            f"From step {steps[low]:,} of {total:,} on ({share:.0%} of the run) the learning rate is at most {DECAYED_SHARE:.1%} of its peak: "
            "hardly anything is learned after that."
        )
        advice = "Give its durations as shares of the run, or make the run shorter."
        fix = _stretch(config)
        found.append(LENGTH.find("warning", title, advice, place="schedule", evidence={"step": steps[low]}, fix=fix))
    elif kind in ("exponential", "step", "multi_step") and ENDS_HIGH * peak < rates[-1]:
        title = f"The learning rate ends at {rates[-1] / peak:.0%} of its peak: the last steps are still large ones."
        found.append(LENGTH.find("info", title, place="schedule", evidence={"last": rates[-1], "peak": peak}))
    warm = steps[first] / total
    if warm > LONG_WARMUP:
        title = f"Warm-up takes {warm:.0%} of the run; a tenth is usually enough."
        level: FindingLevel = "warning" if warm > TOO_LONG_WARMUP else "info"
        fix = {"schedule.warmup": "5 %"} if warm > TOO_LONG_WARMUP else {}
        found.append(LENGTH.find(level, title, place="schedule.warmup", evidence={"share": warm}, fix=fix))
    return found


def _stretch(config: RunConfig) -> dict[str, JsonValue]:
    """Settings with which the rate falls over the whole run."""
    match config.schedule.kind:
        case "step":
            return {"schedule.step_size": "33 %"}
        case "multi_step" if (count := len(getattr(config.schedule, "milestones", ()))) in (2, 3):
            return {"schedule.milestones": [f"{40 + 45 * number // (count - 1)} %" for number in range(count)]}
        case _:
            return {"schedule.kind": "cosine"}


def _regularization(config: RunConfig, peak: float) -> list[Finding]:
    found = []
    for section in ("model", "objective"):
        settings = getattr(config, section)
        for name, most, usual in (("dropout", MOST_DROPOUT, 0.2), ("label_smoothing", MOST_SMOOTHING, 0.1)):
            value = getattr(settings, name, 0.0)
            path = f"{section}.{name}"
            if isinstance(value, float) and value > most and path not in find_inactive(config):
                title = f"{path} is {value:g}, more than {most:g}: what is left is hard to learn from."
                found.append(
                    REGULARIZED.find("warning", title, place=path, evidence={"value": value}, fix={path: usual})
                )
    optimizer = config.optimizer
    decay, decoupled = optimizer.weight_decay, _is_decoupled(optimizer)
    shrinking = decay * peak
    if (decoupled and shrinking >= MOST_SHRINKING) or (not decoupled and decay >= MOST_DECAY):
        usual = type(optimizer)().weight_decay
        how = (
            f"shrinks the weights by {shrinking:.1%} in each step"
            if decoupled
            else "outweighs the gradient of the loss"
        )
        title = f"optimizer.weight_decay is {decay:g}, which {how}: they cannot hold what they learn."
        evidence = {"weight_decay": decay, "lr": peak}
        place = "optimizer.weight_decay"
        found.append(REGULARIZED.find("warning", title, place=place, evidence=evidence, fix={place: usual}))
    return found


def _is_decoupled(optimizer: Optimizer) -> bool:
    return optimizer.kind in ("adamw", "muon") or bool(getattr(optimizer, "decoupled_weight_decay", False))
