"""Whether a run has enough steps to learn from, and batches of a size that suits them."""

from __future__ import annotations

import math

from pydantic import JsonValue

from training.config import RunConfig
from training.diagnosis.rates import fitting_rate
from training.errors import pluralize
from training.events import Finding
from training.findings.duration import (
    ADAPTIVE_TRAVEL,
    AMPLE,
    FEW_EPOCHS,
    FEW_STEPS,
    FEW_STEPS_RULE,
    LEAST_BATCH,
    LEAST_LARGE,
    LEAST_SAMPLES,
    SGD_TRAVEL,
    SHORT,
    SMALL,
    SMALL_BATCH,
    STEPS_OF_EPOCH,
)
from training.findings.settings import LITTLE_LEFT, UNUSUAL_RATE

_STEPS = 20
"""Of an epoch, where a smaller batch is proposed."""
_ENOUGH = 3.0
_MOST_EPOCHS = 1_000
_USUAL_BATCH = 32
_LIKE_ADAM = ("adamw", "adam", "nadam", "radam", "rmsprop", "muon")


def duration_findings(
    config: RunConfig,
    schedule: tuple[list[int], list[float]],
    counts: tuple[int, int, int],
    known: bool,
    dense: bool,
) -> list[Finding]:
    """``schedule`` are some steps and their learning rates, ``counts`` the run's steps, those of an epoch and the training samples (0: not
    known); ``known``: the network begins with known weights, or the optimizer
    explains already that little is learned; ``dense``: each sample holds many answers."""
    found = _large_batches(config, *counts, known)
    if not found and not known:
        found = _short(config, schedule, counts)
    return found or _small_batches(config, counts[2], dense)


def _large_batches(config: RunConfig, total: int, per_epoch: int, samples: int, known: bool) -> list[Finding]:
    loop = config.loop
    size = loop.batch_size * loop.accumulation
    over = samples < loop.batch_size
    few = total < FEW_STEPS and per_epoch < STEPS_OF_EPOCH and size > LEAST_LARGE and not known
    if not samples or not (over or few):
        return []
    title = (
        f"loop.batch_size is {loop.batch_size:,}, more than the {pluralize(samples, 'training sample')}: an epoch is a single step."
        if over
        else f"The run has only {pluralize(total, 'step')}, since one sees {size:,} of the {samples:,} training samples."
    )
    fitting = 2 ** max(math.floor(math.log2(samples / _STEPS)), 0)
    fix: dict[str, JsonValue] = {"loop.batch_size": fitting} if fitting < loop.batch_size else {}
    if loop.accumulation > 1:
        fix["loop.accumulation"] = 1
    evidence = {"batch": size, "samples": samples, "steps": total}
    return [
        FEW_STEPS_RULE.find(
            "warning", title, "Only steps change the weights; take smaller batches.", evidence=evidence, fix=fix
        )
    ]


def _short(config: RunConfig, schedule: tuple[list[int], list[float]], counts: tuple[int, int, int]) -> list[Finding]:
    total, per_epoch, _ = counts
    way = _add_up(config, *schedule, total)
    least = SGD_TRAVEL if config.optimizer.kind == "sgd" else ADAPTIVE_TRAVEL
    usual = fitting_rate(config, total)
    peak = max(schedule[1])
    decays = sum(schedule[1]) / len(schedule[1]) < LITTLE_LEFT * peak  # which schedule.length tells
    slow = (
        way is not None
        and way < least
        and not decays
        and not (config.optimizer.kind == "sgd" and _has_own_scale(config))
    )
    if slow and way is not None and peak < usual / 5.0 and way * usual / peak >= _ENOUGH * least:
        return _slow(config, peak, way, total)
    ample = way is not None and way >= AMPLE * least
    few = total < FEW_STEPS and total <= FEW_EPOCHS * per_epoch and not ample
    if not (slow or few):
        return []
    times = max(_ENOUGH * least / way if slow and way else 1.0, _ENOUGH * FEW_STEPS / total if few else 1.0)
    if config.loop.max_steps is not None and config.loop.max_steps <= total:
        fix: dict[str, JsonValue] = {"loop.max_steps": math.ceil(times * total)}
        if math.ceil(times * total) > config.loop.epochs * per_epoch:
            fix["loop.epochs"] = math.ceil(times * total / per_epoch)
    else:
        fix = {"loop.epochs": min(_MOST_EPOCHS, math.ceil(times * config.loop.epochs))}
    title = f"The run has only {pluralize(total, 'step')}: too few for a network that begins with random weights."
    evidence = {"steps": total, "rates_added_up": way}
    return [SHORT.find("warning", title, "Let it train for longer.", evidence=evidence, fix=fix)]


def _has_own_scale(config: RunConfig) -> bool:
    """Whether the loss, and with it a step of SGD, may be of any size: a person's own, or of targets in their own unit."""
    objective = config.objective
    return objective.kind == "user_loss" or getattr(objective, "standardise", True) is False


def _slow(config: RunConfig, peak: float, way: float, total: int) -> list[Finding]:
    usual = fitting_rate(config, total)
    title = f"The learning rate is {peak:g} at most, so that in all {total:,} steps together the weights hardly move: the rates add up to {way:.2g}."
    fix: dict[str, JsonValue] = {"optimizer.lr": usual}
    if getattr(config.schedule, "max_lr", None) is not None:
        fix["schedule.max_lr"] = None
    if (
        config.optimizer.kind == "sgd" and config.optimizer.momentum == 0.0
    ):  # of which ten times the rate would be usual
        fix["optimizer.momentum"] = type(config.optimizer)().momentum
    evidence = {"peak": peak, "rates_added_up": way}
    return [UNUSUAL_RATE.find("warning", title, f"Begin with {usual:g}.", evidence=evidence, fix=fix)]


def _add_up(config: RunConfig, steps: list[int], rates: list[float], total: int) -> float | None:
    """The way that the weights can go in ``total`` steps; None of an optimizer with a scale of its own."""
    optimizer = config.optimizer
    rest = 1.0 - getattr(optimizer, "momentum", 0.0)
    if optimizer.kind == "adagrad":
        rates = [rate / math.sqrt(step + 1) for step, rate in zip(steps, rates, strict=True)]
    elif optimizer.kind not in (*_LIKE_ADAM, "sgd"):
        return None
    way = sum(rates) / len(rates) * total
    return way / rest if optimizer.kind in ("sgd", "rmsprop") else way


def _small_batches(config: RunConfig, samples: int, dense: bool) -> list[Finding]:
    size = config.loop.batch_size * config.loop.accumulation
    if dense or samples < LEAST_SAMPLES or size >= SMALL_BATCH:
        return []
    small = size <= LEAST_BATCH
    title = f"Each step sees {pluralize(size, 'sample')} of {samples:,}: its gradient is mostly noise, and an epoch takes long."
    fix: dict[str, JsonValue] = {"loop.batch_size": _USUAL_BATCH} if small else {}
    return [
        SMALL.find(
            "warning" if small else "info",
            title,
            f"Begin with batches of {_USUAL_BATCH}.",
            evidence={"batch": size, "samples": samples},
            fix=fix,
        )
    ]
