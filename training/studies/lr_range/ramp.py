"""The runs of the test itself: ordinary ones whose learning rate rises exponentially over a wide band."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from training.config import RunConfig
from training.config.sections.optimizer import Muon
from training.config.sections.schedule import Exponential, OneCycle
from training.errors import InputError
from training.findings import curves, gradients, layers
from training.runs.folder import RunFolder
from training.runs.records.series import read_series
from training.statistics.intervals import Floats
from training.studies.lr_range.curve import RangeCurve

HIGHEST_RATE: Final = 100.0
_NARROWEST: Final = 10.0
_USUAL: Final = (1e-7, 1.0)
_BANDS: Final[Mapping[str, tuple[float, float]]] = {
    "sgd": (1e-5, 10.0),
    "adagrad": (1e-5, 1.0),
    "adafactor": (1e-6, 1.0),
    "muon": (1e-6, 1.0),
}
"""By optimizer: from where nothing moves to where nearly everything diverges."""
_MUON_UNSCALED: Final = (1e-5, 20.0)
_CLOSER: Final = 1e3
"""From the lowest to the highest rate of a closer look."""

_MEANINGLESS: Final = tuple(rule.code for rules in (curves, gradients, layers) for rule in rules.RULES)
"""Findings about the course of a run: that of a ramp says nothing of the configuration."""


class Band(NamedTuple):
    """From ``low`` to ``high`` in ``steps`` steps, each by the same factor."""

    low: float
    high: float
    steps: int

    @property
    def gamma(self) -> float:
        """The factor."""
        return float((self.high / self.low) ** (1.0 / (self.steps - 1)))

    def rates(self) -> Floats:
        """Of each step, (steps,)."""
        rates: Floats = self.low * self.gamma ** np.arange(self.steps, dtype=np.float64)
        return rates

    @property
    def decades(self) -> float:
        """How wide it is."""
        return math.log10(self.high / self.low)


def choose_band(config: RunConfig, given: object, steps: int) -> Band:
    """The one ``given`` as [low, high], else by the optimizer. Raises InputError."""
    if isinstance(given, list):
        low, high = (float(each) for each in given)
        if not 0.0 < low < high <= HIGHEST_RATE or high / low < _NARROWEST:
            raise InputError(
                f"--band {low:g} {high:g}: must be two rates from above 0 to {HIGHEST_RATE:g}, the second at least ten times the first, "
                "for example 1e-6 1."
            )
    else:
        low, high = _BANDS.get(config.optimizer.kind, _USUAL)
        if isinstance(config.optimizer, Muon) and config.optimizer.adjust_lr_fn != "match_rms_adamw":
            low, high = _MUON_UNSCALED
    return Band(low, high, steps)


def look_closer(band: Band, curve: RangeCurve) -> Band | None:
    """The upper part of ``band``, to the rate where the test ended, in twice as many steps: a network that takes hundreds of steps to
    get going has few while the rate passes those that suit it. None where there was nothing to look at."""
    high = float(curve.rates[-1]) if len(curve.rates) else band.low
    low = max(band.low, high / _CLOSER)
    return Band(low, high, 2 * band.steps) if high >= _NARROWEST * low else None


def rate_setting(config: RunConfig) -> str:
    """The setting that the schedule rises to: one cycle may have a highest rate of its own."""
    own = isinstance(config.schedule, OneCycle) and config.schedule.max_lr is not None
    return "schedule.max_lr" if own else "optimizer.lr"


def with_rate(config: RunConfig, rate: float) -> RunConfig:
    """``config`` at that learning rate."""
    section, _, name = rate_setting(config).partition(".")
    return config.model_copy(update={section: getattr(config, section).model_copy(update={name: rate})})


def make_ramp(config: RunConfig, band: Band) -> RunConfig:
    """``config`` as a run over the band: nothing but the rate is otherwise while it trains, and as little is kept as can be."""
    optimizer = config.optimizer.model_copy(update={"lr": band.low})
    update = {"optimizer": optimizer, "schedule": Exponential(gamma=band.gamma), "muted_findings": _MEANINGLESS}
    return make_short(config, band.steps).model_copy(update=update)


def make_short(config: RunConfig, steps: int) -> RunConfig:
    """``config`` as a run of ``steps`` steps that always gets there, unless its numbers do not last."""
    loop = config.loop.model_copy(
        update={
            "epochs": max(config.loop.epochs, min(steps, 10**6)),
            "max_steps": steps,
            "validate_every_steps": None,
            "early_stopping_patience": None,
            "stopping_threshold": None,
            "after_skips": "stop",
            "ema_decay": None,
            "swa_start": None,
            "swa_every_steps": None,
            "swa_lr": None,
            "keep_predictions": False,
            "decision_boundary": "off",
        }
    )
    checkpoints = config.checkpoints.model_copy(update={"every_steps": 10**9, "keep_last": 1})
    return config.model_copy(update={"loop": loop, "checkpoints": checkpoints})


def read_losses(run: RunFolder) -> Floats:
    """Of each step that was made, NaN where its gradient was not finite."""
    rows = read_series(run.series_file)
    losses = rows["loss"].astype(np.float64)
    losses[rows["skipped"].astype(bool)] = math.nan
    return losses
