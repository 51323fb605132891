"""Whether early stopping waits for longer than the noise lasts."""

from __future__ import annotations

import math
from dataclasses import replace

from pydantic import JsonValue

from training.config import RunConfig
from training.config.sections.schedule import ScheduleSection
from training.core.durations import count_duration
from training.errors import pluralize
from training.events import Finding
from training.findings.duration import (
    LARGE_DELTA,
    LARGE_LOSS_DELTA,
    LEAST_COVERED,
    LEAST_PATIENCE,
    STOPS,
)

_USUAL_SHARE, _USUAL_LEAST = 0.25, 5


def stopping_findings(config: RunConfig, total: int, per_epoch: int, usual: float) -> list[Finding]:
    """``usual`` is the share of the largest class, 0 where there are none."""
    found = _threshold(config, usual)
    if config.loop.early_stopping_patience is None:
        return found
    between = min(config.loop.validate_every_steps or per_epoch, per_epoch)
    waits, gain = _patience(config, total, per_epoch, between), _gain(config)
    if gain and any(item.fix for item in waits):  # either of them would still end it
        waits = [replace(item, fix={**item.fix, **gain[0].fix}) for item in waits]
    return [*waits, *gain, *found]


def _patience(config: RunConfig, total: int, per_epoch: int, between: int) -> list[Finding]:
    patience = config.loop.early_stopping_patience or 0
    validations = total // between
    if validations <= patience:
        return []  # it never ends the run
    covered = patience * between
    warmup = (
        count_duration(config.schedule.warmup or 0, total, per_epoch)
        if isinstance(config.schedule, ScheduleSection) and getattr(config.schedule, "every", "step") == "step"
        else 0
    )
    hasty = patience <= LEAST_PATIENCE or between < per_epoch
    sure = patience == 1 or (hasty and covered < LEAST_COVERED * total) or covered < warmup
    if not sure and patience > LEAST_PATIENCE:
        return []
    title = (
        f"Early stopping ends the run after {pluralize(patience, 'validation')} without a gain, {pluralize(covered, 'step')} of {total:,}: "
        "chance alone often does that."
    )
    enough = max(_USUAL_LEAST, math.ceil(max(_USUAL_SHARE * total, 2 * warmup) / between))
    fix: dict[str, JsonValue] = {"loop.early_stopping_patience": enough} if sure else {}
    evidence = {"patience": patience, "steps": covered, "of": total}
    place = "loop.early_stopping_patience"
    return [STOPS.find("warning" if sure else "info", title, place=place, evidence=evidence, fix=fix)]


def _gain(config: RunConfig) -> list[Finding]:
    least, monitor = config.loop.early_stopping_min_delta, config.monitor
    if least < (LARGE_DELTA if config.maximize else LARGE_LOSS_DELTA) or not (
        config.maximize or monitor.endswith("loss")
    ):
        return []
    title = f"Only a gain of {least:g} at each validation keeps the run going: it ends while it still learns."
    place = "loop.early_stopping_min_delta"
    return [STOPS.find("warning", title, place=place, evidence={"min_delta": least}, fix={place: 0.0})]


def _threshold(config: RunConfig, usual: float) -> list[Finding]:
    goal, monitor = config.loop.stopping_threshold, config.checkpoints.monitor
    accuracy = monitor == "val/accuracy" or (
        monitor == "auto" and config.objective.kind in ("classification", "binary")
    )
    if goal is None or not accuracy or not usual or goal > usual:
        return []
    title = f"The run ends at an accuracy of {goal:.0%}, which always guessing the largest class reaches ({usual:.0%})."
    place = "loop.stopping_threshold"
    return [STOPS.find("warning", title, place=place, evidence={"threshold": goal, "usual": usual}, fix={place: None})]
