"""The one schedule that remembers something: it drops when the monitored metric stops improving."""

from __future__ import annotations

import math
from collections.abc import Mapping

from training.config import schedule as sections
from training.schedules.schedule import warmup_factor


class PlateauState:
    """What ``ReduceLROnPlateau(threshold_mode="rel")`` remembers: the only state any schedule has.

    ``factor``: share of the optimizer's rate now in force. ``best``: best metric so far, None before the first.
    ``bad_validations``: validations without progress. ``cooldown_left``: validations still to wait after a drop.
    """

    _SMALLEST_CHANGE = 1e-8  # ReduceLROnPlateau's eps: a smaller drop is not made

    def __init__(self, config: sections.Plateau, base_lr: float) -> None:
        self._config = config
        self._base_lr = base_lr
        self.factor = 1.0
        self.best: float | None = None
        self.bad_validations = 0
        self.cooldown_left = 0

    def update(self, metric: float, maximize: bool) -> bool:
        """Take in one validation's ``metric``; True when the rate fell. NaN counts as no progress."""
        if self._is_better(metric, maximize):
            self.best = metric
            self.bad_validations = 0
        else:
            self.bad_validations += 1
        if self.cooldown_left > 0:
            self.cooldown_left -= 1
            self.bad_validations = 0
        if self.bad_validations <= self._config.patience:
            return False
        self.cooldown_left = self._config.cooldown
        self.bad_validations = 0
        return self._drop()

    def _is_better(self, metric: float, maximize: bool) -> bool:
        threshold = self._config.threshold
        if maximize:
            return metric > (-math.inf if self.best is None else self.best) * (threshold + 1.0)
        return metric < (math.inf if self.best is None else self.best) * (1.0 - threshold)

    def _drop(self) -> bool:
        old = self._base_lr * self.factor
        new = max(old * self._config.factor, self._config.min_lr)
        if old - new <= self._SMALLEST_CHANGE:
            return False
        self.factor = new / self._base_lr
        return True

    def state(self) -> dict[str, float]:
        """The numbers to save; ``best`` is left out until there is one."""
        numbers: dict[str, float] = {
            "factor": self.factor,
            "bad_validations": self.bad_validations,
            "cooldown_left": self.cooldown_left,
        }
        if self.best is not None:
            numbers["best"] = self.best
        return numbers

    def load(self, numbers: Mapping[str, float]) -> None:
        """Go on from ``state()``."""
        self.factor = float(numbers["factor"])
        self.bad_validations = int(numbers["bad_validations"])
        self.cooldown_left = int(numbers["cooldown_left"])
        self.best = float(numbers["best"]) if "best" in numbers else None


class PlateauSchedule:
    """The warm-up, then the optimizer's rate times ``plateau.factor``, which falls by ``plateau.update``."""

    def __init__(self, config: sections.Plateau, base_lr: float, total_steps: int) -> None:
        self._config = config
        self._base_lr = base_lr
        self.plateau = PlateauState(config, base_lr)

    def lr(self, step: int) -> float:
        return self._base_lr * warmup_factor(self._config, step) * self.plateau.factor

    def momentum(self, step: int) -> float | None:
        return None
