"""Whether regularization leaves anything to learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pydantic import JsonValue

from training.config import RunConfig
from training.config.rules.inactive_settings import find_inactive
from training.config.sections.optimizer import Optimizer
from training.events import Finding
from training.findings import merge_fixes
from training.findings.settings import (
    AT_ONCE,
    FORGOTTEN,
    LONG_RUN,
    MOST_ADAM_DECAY,
    MOST_DECAY,
    MOST_DROPOUT,
    MOST_SHRINKING,
    MOST_SMOOTHING,
    REGULARIZED,
    STRONG_DECAY,
)

_USUAL_DROPOUT, _USUAL_SMOOTHING = 0.2, 0.0
_MIXING = ("mixup_alpha", "cutmix_alpha")


def regularization_findings(config: RunConfig, peak: float, way: float) -> list[Finding]:
    """``peak`` is the highest learning rate, ``way`` those of all steps added up."""
    found, together = [*_shares(config), *_decay(config, peak, way)], _at_once(config, way)
    if not found:
        return together
    fix = {**merge_fixes(together), **merge_fixes(found)}
    return [replace(finding, fix=fix) for finding in found]


def _shares(config: RunConfig) -> Iterator[Finding]:
    """Dropout and label smoothing."""
    for section in ("model", "objective"):
        settings = getattr(config, section)
        for name, most, usual in (
            ("dropout", MOST_DROPOUT, _USUAL_DROPOUT),
            ("label_smoothing", MOST_SMOOTHING, _USUAL_SMOOTHING),
        ):
            value = getattr(settings, name, 0.0)
            path = f"{section}.{name}"
            if isinstance(value, float) and value > most and path not in find_inactive(config):
                title = f"{path} is {value:g}, more than {most:g}: what is left is hard to learn from."
                yield REGULARIZED.find("warning", title, place=path, evidence={"value": value}, fix={path: usual})


def _decay(config: RunConfig, peak: float, way: float) -> Iterator[Finding]:
    optimizer = config.optimizer
    decay, decoupled = optimizer.weight_decay, _is_decoupled(optimizer)
    shrinking = decay * peak
    if decoupled:
        much = shrinking >= MOST_SHRINKING or (decay >= STRONG_DECAY and decay * way >= FORGOTTEN)
    else:
        much = decay >= (MOST_DECAY if optimizer.kind == "sgd" else MOST_ADAM_DECAY)
    if much:
        usual = type(optimizer)().weight_decay
        how = (
            f"shrinks the weights by {shrinking:.2%} in each step at the highest rate"
            if decoupled
            else "outweighs the gradient of the loss"
        )
        title = f"optimizer.weight_decay is {decay:g}, which {how}: they cannot hold what they learn."
        evidence = {"weight_decay": decay, "lr": peak}
        place = "optimizer.weight_decay"
        yield REGULARIZED.find("warning", title, place=place, evidence=evidence, fix={place: usual})


def _at_once(config: RunConfig, way: float) -> list[Finding]:
    """Several that are each still usual."""
    if config.loop.epochs >= LONG_RUN:
        return []
    model, objective, dataset, optimizer = config.model, config.objective, config.dataset, config.optimizer
    decay = optimizer.weight_decay
    large = decay >= 0.1 and decay * way >= FORGOTTEN if _is_decoupled(optimizer) else decay >= 2e-3
    fixes: dict[str, JsonValue] = {}
    strong = []
    if getattr(model, "dropout", 0.0) >= 0.4:
        strong.append("dropout")
        fixes["model.dropout"] = _USUAL_DROPOUT
    if getattr(objective, "label_smoothing", 0.0) >= 0.15:
        strong.append("label smoothing")
        fixes["objective.label_smoothing"] = _USUAL_SMOOTHING
    if large:
        strong.append("weight decay")
        fixes["optimizer.weight_decay"] = type(optimizer)().weight_decay
    if mixed := [name for name in _MIXING if getattr(dataset, name, 0.0) > 0.0]:
        strong.append("MixUp or CutMix")
        fixes |= {f"dataset.{name}": 0.0 for name in mixed}
    if getattr(dataset, "erasing", 0.0) >= 0.4:
        strong.append("random erasing")
        fixes["dataset.erasing"] = 0.0
    if len(strong) < AT_ONCE:
        return []
    title = f"{', '.join(strong[:-1])} and {strong[-1]} at once, in a run of {config.loop.epochs} epochs: together they hide what there is to learn."
    return [
        REGULARIZED.find(
            "warning",
            f"{title[:1].upper()}{title[1:]}",
            "Begin with one of them; add others where the run overfits.",
            place="together",
            evidence={"together": len(strong)},
            fix=fixes,
        )
    ]


def _is_decoupled(optimizer: Optimizer) -> bool:
    return optimizer.kind in ("adamw", "muon") or bool(getattr(optimizer, "decoupled_weight_decay", False))
