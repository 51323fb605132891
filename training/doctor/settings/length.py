"""Whether the schedule fits the length of the run."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from training.config import RunConfig
from training.events import Finding, FindingLevel
from training.findings.settings import (
    DECAYED_BY,
    DECAYED_SHARE,
    ENDS_HIGH,
    HARDLY_FALLS,
    LENGTH,
    LITTLE_LEFT,
    LONG_WARMUP,
    MOSTLY_BEFORE,
    TOO_LONG_WARMUP,
)

_MEANT = ("constant", "plateau", "cosine_restarts", "one_cycle")
"""Schedules that need not fall."""
_FLOORS: Mapping[str, JsonValue] = {"eta_min": 0.0, "end_factor": 0.0}
"""Settings that say where a decay ends, and what is usual."""


def length_findings(config: RunConfig, steps: list[int], rates: list[float], total: int) -> list[Finding]:
    """Of the ``rates`` at ``steps`` of ``total``."""
    kind, peak = config.schedule.kind, max(rates)
    if kind == "one_cycle" or len(rates) < 10 or peak <= 0:
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
    found = [] if kind in _MEANT else _decay_findings(config, steps, rates, total, top)
    warm = steps[first] / total
    if warm > LONG_WARMUP:
        title = f"Warm-up takes {warm:.0%} of the run; a tenth is usually enough."
        level: FindingLevel = "warning" if warm > TOO_LONG_WARMUP else "info"
        fix = {"schedule.warmup": "5 %"} if warm > TOO_LONG_WARMUP else {}
        found.append(LENGTH.find(level, title, place="schedule.warmup", evidence={"share": warm}, fix=fix))
    return found


def _decay_findings(config: RunConfig, steps: list[int], rates: list[float], total: int, top: int) -> list[Finding]:
    """Of how the rate falls behind its last peak, the one at ``top``."""
    peak = rates[top]
    low = next((place for place in range(top, len(rates)) if max(rates[place:]) <= DECAYED_SHARE * peak), len(rates))
    mean = sum(rates) / len(rates) / peak
    if mean < LITTLE_LEFT:
        low = next((place for place in range(top, len(rates)) if max(rates[place:]) <= LITTLE_LEFT * peak), low)
    if low < DECAYED_BY * len(rates):
        share = steps[low] / total
        title = (
            f"From step {steps[low]:,} of {total:,} on ({share:.0%} of the run) the learning rate is at most {max(rates[low:]) / peak:.1%} of its peak: "
            "hardly anything is learned after that."
        )
        advice = "Give its durations as shares of the run, or make the run shorter."
        fix = _stretch(config)
        level: FindingLevel = "warning" if share < MOSTLY_BEFORE else "info"
        evidence = {"step": steps[low], "mean": mean}
        return [LENGTH.find(level, title, advice, place="schedule", evidence=evidence, fix=fix)]
    last = rates[-1] / peak
    evidence = {"last": rates[-1], "peak": peak}
    if last > HARDLY_FALLS:
        title = f"The learning rate is to fall, and ends at {last:.0%} of its peak: the run is over before it settles."
        advice = "Let it fall over the whole run; what is meant to stay has a constant schedule."
        return [LENGTH.find("warning", title, advice, place="schedule", evidence=evidence, fix=_lower_end(config))]
    if last > ENDS_HIGH:
        title = f"The learning rate ends at {last:.0%} of its peak: the last steps are still large ones."
        return [LENGTH.find("info", title, place="schedule", evidence=evidence)]
    return []


def _lower_end(config: RunConfig) -> dict[str, JsonValue]:
    """Settings with which it ends at nearly 0."""
    floors = {f"schedule.{name}": value for name, value in _FLOORS.items() if getattr(config.schedule, name, 0.0)}
    return floors or _stretch(config)


def _stretch(config: RunConfig) -> dict[str, JsonValue]:
    """Settings with which the rate falls over the whole run."""
    match config.schedule.kind:
        case "step":
            return {"schedule.step_size": "33 %"}
        case "multi_step" if (count := len(getattr(config.schedule, "milestones", ()))) in (2, 3):
            return {"schedule.milestones": [f"{40 + 45 * number // (count - 1)} %" for number in range(count)]}
        case _:
            return {"schedule.kind": "cosine"}
