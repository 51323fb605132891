"""Whether the learning rate is one that its optimizer usually works with."""

from __future__ import annotations

from pydantic import JsonValue

from training import catalog
from training.config import RunConfig
from training.diagnosis.rates import fitting_rate, usual_rate
from training.events import Finding, FindingLevel
from training.findings.settings import (
    ADAPTIVE_RATES,
    FAR,
    HIGH_MOMENTUM,
    MOST_WAY,
    OTHER_RATES,
    SGD_RATES,
    UNUSUAL_RATE,
)

_BANDS = {
    **dict.fromkeys(("adamw", "adam", "nadam", "radam", "rmsprop"), ADAPTIVE_RATES),
    "sgd": SGD_RATES,
    **OTHER_RATES,
}


def rate_findings(config: RunConfig, peak: float, known: bool, total: int) -> list[Finding]:
    """Of the schedule's ``peak`` in a run of ``total`` steps; ``known``: the network begins with known weights."""
    optimizer = config.optimizer
    band = _BANDS.get(optimizer.kind)
    if band is None:
        return []
    usual = fitting_rate(config, total)
    if known and (optimizer.freeze != "all_but_head" or optimizer.unfreeze_epoch is not None):
        band, usual = (
            (band[0] / FAR, band[1] / FAR),
            usual_rate(config) / FAR,
        )  # fine-tuning moves weights that are good already
    momentum = getattr(optimizer, "momentum", 0.0)
    swings = optimizer.kind == "sgd" and momentum <= HIGH_MOMENTUM and peak / (1.0 - momentum) >= MOST_WAY
    if band[0] <= peak <= band[1] and not swings:
        return []
    high = peak > band[1] or swings
    far = swings or (peak >= FAR * band[1] if high else peak <= band[0] / FAR)
    fix: dict[str, JsonValue] = {"optimizer.lr": usual}
    if getattr(config.schedule, "max_lr", None) is not None:
        fix["schedule.max_lr"] = None
    beside = f" at a momentum of {momentum:g}" if swings else ""
    title = (
        f"The learning rate reaches {peak:.4g}{beside}; {catalog.entry('optimizer', optimizer.kind).title} usually works between {band[0]:g} and {band[1]:g}: "
        f"{'training may diverge' if high else 'the weights will hardly move'}."
    )
    evidence = {"peak": peak, "low": band[0], "high": band[1]}
    level: FindingLevel = "warning" if far else "info"
    return [UNUSUAL_RATE.find(level, title, f"Begin with {usual:g}.", evidence=evidence, fix=fix if far else {})]
