"""Which setting of a run that did worse than it could is farthest from what is usual."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from pydantic import JsonValue

from training.diagnosis.rates import fitting_rate, peak_rate
from training.diagnosis.recorded import Recorded

Change = Mapping[str, JsonValue]
_LEAST = 0.3
"""How far a setting has to be from usual to be suspected: in powers of ten, or what is worth as much."""
_FEW_STEPS, _FEW_AN_EPOCH = 300, 10
_DROPOUT, _SMOOTHING, _MIXED, _ERASED = 0.3, 0.1, 0.4, 0.3
_FORGOTTEN, _L2, _MEAN_RATE, _CLIPPED = 0.3, 1e-3, 0.25, 0.3
_USUAL_DROPOUT, _USUAL_BATCH = 0.1, 32
_NOTHING = "It has no setting that is far from usual: look at the network, its activations and its size, and at how samples are prepared."


def suspect_setting(run: Recorded) -> tuple[str, Change]:
    """Advice, and the settings that follow it; no settings where none is far from usual."""
    config = run.config
    if config.objective.kind == "user_loss":
        return (
            "The loss is your own: it may ask for something else than this metric does. Try the usual one.",
            {"objective.kind": str(config.objective.task)},
        )
    score, words, fix = max(_list_suspects(run), key=lambda each: each[0], default=(0.0, "", {}))
    return (f"Farthest from usual: {words}", fix) if score >= _LEAST else (_NOTHING, {})


def _list_suspects(run: Recorded) -> Iterator[tuple[float, str, Change]]:
    yield _of_rate(run)
    yield from _of_schedule(run)
    yield from _of_length(run)
    yield from _of_decay(run)
    yield from _of_others(run)


def _of_rate(run: Recorded) -> tuple[float, str, Change]:
    peak, usual = peak_rate(run), fitting_rate(run.config, run.total_steps)
    fix: dict[str, JsonValue] = {"optimizer.lr": usual}
    if getattr(run.config.schedule, "max_lr", None) is not None:
        fix["schedule.max_lr"] = None
    return abs(math.log10(peak / usual)), f"a learning rate of {peak:g}; {usual:g} is usual.", fix


def _of_schedule(run: Recorded) -> Iterator[tuple[float, str, Change]]:
    rates = run.steps["lr"].astype(np.float64)
    if not len(rates) or rates.max() <= 0:
        return
    mean = float(rates.mean() / rates.max())
    if mean < _MEAN_RATE:
        words = f"a schedule that leaves {mean:.0%} of the highest rate on average."
        yield math.log10(_MEAN_RATE / max(mean, 1e-9)) + _LEAST, words, {"schedule.kind": "cosine"}


def _of_length(run: Recorded) -> Iterator[tuple[float, str, Change]]:
    loop, steps = run.config.loop, max(run.step, 1)
    if steps >= _FEW_STEPS:
        return
    score = math.log10(_FEW_STEPS / steps) + 0.1
    if run.steps_per_epoch < _FEW_AN_EPOCH and loop.batch_size * loop.accumulation > _USUAL_BATCH:
        fix: dict[str, JsonValue] = {"loop.batch_size": min(loop.batch_size, _USUAL_BATCH)}
        if loop.accumulation > 1:
            fix["loop.accumulation"] = 1
        yield score, f"batches of which an epoch has only {run.steps_per_epoch}.", fix
    elif loop.max_steps is None:
        yield score, f"only {steps} steps.", {"loop.epochs": math.ceil(loop.epochs * 2 * _FEW_STEPS / steps)}


def _of_decay(run: Recorded) -> Iterator[tuple[float, str, Change]]:
    optimizer = run.config.optimizer
    decay, usual = optimizer.weight_decay, type(optimizer)().weight_decay
    decoupled = optimizer.kind in ("adamw", "muon") or bool(getattr(optimizer, "decoupled_weight_decay", False))
    way = float(run.steps["lr"].astype(np.float64).sum())
    size, least = (decay * way, _FORGOTTEN) if decoupled else (decay, _L2)
    if size > least and decay > usual:
        words = f"a weight decay of {decay:g}; {usual:g} is usual."
        yield math.log10(size / least) + _LEAST, words, {"optimizer.weight_decay": usual}
    clip = run.config.loop.clip_norm
    norms = run.judged["grad_norm"].astype(np.float64)
    norms = norms[np.isfinite(norms)]
    if clip and len(norms) and optimizer.kind == "sgd" and (times := float(np.median(norms)) / clip) > 1 / _CLIPPED:
        words = f"gradients that are cut to {clip:g}, {times:.0f} times less than their usual norm."
        yield math.log10(times), words, {"loop.clip_norm": float(f"{np.percentile(norms, 90):.2g}")}


def _of_others(run: Recorded) -> Iterator[tuple[float, str, Change]]:
    """Regularization that is a share."""
    config = run.config
    dropout = getattr(config.model, "dropout", 0.0)
    if isinstance(dropout, float) and dropout > _DROPOUT:
        yield 3.0 * (dropout - _DROPOUT), f"a dropout of {dropout:g}.", {"model.dropout": _USUAL_DROPOUT}
    smoothing = getattr(config.objective, "label_smoothing", 0.0)
    if smoothing > _SMOOTHING:
        yield 4.0 * (smoothing - _SMOOTHING), f"label smoothing of {smoothing:g}.", {"objective.label_smoothing": 0.0}
    mixed = [name for name in ("mixup_alpha", "cutmix_alpha") if getattr(config.dataset, name, 0.0) > 0.0]
    if mixed:
        yield _MIXED, "MixUp or CutMix.", {f"dataset.{name}": 0.0 for name in mixed}
    erasing = getattr(config.dataset, "erasing", 0.0)
    if erasing > _ERASED:
        yield _MIXED, f"random erasing of {erasing:g}.", {"dataset.erasing": 0.0}
