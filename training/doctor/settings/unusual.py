"""Settings of which a value far from usual leaves little of what the setting is for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import JsonValue

from training.config import RunConfig
from training.config.rules.inactive_settings import find_inactive
from training.events import Finding
from training.findings.settings import (
    FEW_CHANNELS,
    HIGH_MOMENTUM,
    LARGE_FACTOR,
    LARGE_MARGIN,
    LARGE_SMOOTH,
    LARGE_SUM,
    LATE_PEAK,
    LEFT_OF_START,
    SURE_ANSWER,
    TEMPERATURES,
    TINY_CLIP,
    UNEVEN_TASKS,
    UNUSUAL,
)

_Said = tuple[str, Any, str, JsonValue]
"""A setting, its value, what that does, and the usual value."""
_NEEDED = 10
"""Times the window of an average, that a run should be long."""


def unusual_findings(config: RunConfig, total: int) -> list[Finding]:
    """Of a run of ``total`` steps."""
    inactive = find_inactive(config)
    said = (*_of_objective(config), *_of_averages(config, total), *_of_optimizer(config), *_of_sizes(config))
    return [
        UNUSUAL.find(
            "warning", f"{place} is {_show(value)}: {what}", place=place, evidence={"value": value}, fix={place: usual}
        )
        for place, value, what, usual in said
        if place not in inactive
    ]


def _show(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _of_objective(config: RunConfig) -> Iterator[_Said]:
    task: Any = config.objective
    usual = type(task)() if task.kind not in ("user_loss", "distillation") else None
    threshold = getattr(task, "threshold", 0.5)
    if not 1.0 - SURE_ANSWER <= threshold <= SURE_ANSWER:
        always = "yes to nearly none" if threshold > 0.5 else "yes to nearly all"
        yield "objective.threshold", threshold, f"the network answers {always}, however well it tells them apart.", 0.5
    temperature = getattr(task, "temperature", None)
    if usual is not None and temperature is not None and not TEMPERATURES[0] <= temperature <= TEMPERATURES[1]:
        yield (
            "objective.temperature",
            temperature,
            "similarities are made nearly equal, or one alone counts.",
            usual.temperature,
        )
    margin = getattr(task, "margin", None)
    if usual is not None and margin is not None and (margin == 0.0 or margin > LARGE_MARGIN):
        what = (
            "answers that are all equal cost nothing."
            if margin == 0.0
            else "no answer is ever right enough to cost nothing."
        )
        yield "objective.margin", margin, what, usual.margin
    smooth = getattr(task, "smooth", 0.0)
    if smooth > LARGE_SMOOTH and "dice" in getattr(task, "loss", ""):
        yield "objective.smooth", smooth, "the overlap of areas is hidden behind it.", 1.0
    weights = getattr(task, "weights", ()) if task.kind == "multi_task" else ()
    if weights and max(weights) > UNEVEN_TASKS * min(weights):
        yield (
            "objective.weights",
            list(weights),
            f"one task counts {max(weights) / min(weights):,.0f} times as much as another, which is hardly learned.",
            [],
        )


def _of_averages(config: RunConfig, total: int) -> Iterator[_Said]:
    decay = config.loop.ema_decay
    if decay is not None and (left := decay**total) > LEFT_OF_START:
        fitting = min(0.999, round(1.0 - _NEEDED / total, 3)) if total > 2 * _NEEDED else None
        what = f"after all {total:,} steps {left:.0%} of the averaged weights, which are validated and kept, are those of the beginning."
        yield "loop.ema_decay", decay, what, fitting
    if config.loop.swa_lr is not None and config.loop.swa_lr > LARGE_FACTOR / 10 * config.optimizer.lr:
        what = f"weights that are averaged are trained at {config.loop.swa_lr / config.optimizer.lr:,.0f} times the rate before."
        yield "loop.swa_lr", config.loop.swa_lr, what, None


def _of_optimizer(config: RunConfig) -> Iterator[_Said]:
    optimizer, loop, schedule = config.optimizer, config.loop, config.schedule
    if not 1.0 / LARGE_FACTOR <= optimizer.head_lr_factor <= LARGE_FACTOR:
        yield "optimizer.head_lr_factor", optimizer.head_lr_factor, "either the head or all else hardly learns.", 1.0
    begun = getattr(optimizer, "initial_accumulator_value", 0.0)
    if begun >= LARGE_SUM:
        yield "optimizer.initial_accumulator_value", begun, "steps are divided by its root, and are tiny.", 0.0
    if optimizer.kind == "sgd":
        for name in ("clip_norm", "clip_value"):
            limit = getattr(loop, name)
            if limit is not None and 0.0 < limit < TINY_CLIP[name]:
                yield f"loop.{name}", limit, "gradients are cut to next to nothing, and SGD's steps with them.", None
    if schedule.kind == "one_cycle":
        if schedule.pct_start > LATE_PEAK:
            what = f"the rate rises for {schedule.pct_start:.0%} of the run, and has no time to fall."
            yield "schedule.pct_start", schedule.pct_start, what, 0.3
        if schedule.cycle_momentum and max(schedule.base_momentum, schedule.max_momentum) > HIGH_MOMENTUM:
            name = "base_momentum" if schedule.base_momentum > HIGH_MOMENTUM else "max_momentum"
            value = getattr(schedule, name)
            what = f"a step is the mean of the last {1 / (1 - value):,.0f}, and swings."
            yield f"schedule.{name}", value, what, getattr(type(schedule)(), name)


def _of_sizes(config: RunConfig) -> Iterator[_Said]:
    model, width = config.model, getattr(config.model, "width", None)
    least = FEW_CHANNELS.get(model.kind)
    if least is not None and isinstance(width, int) and width < least:
        yield "model.width", width, "hardly anything of a sample passes through so few numbers.", type(model)().width  # type: ignore[union-attr]
    size = getattr(config.objective, "embedding_size", None)
    if size is not None and size < 2:
        yield "objective.embedding_size", size, "all samples lie on one line.", type(config.objective)().embedding_size  # type: ignore[union-attr]
