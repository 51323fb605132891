"""The one schedule that remembers something: it drops when the monitored metric stops improving."""

from __future__ import annotations

from collections.abc import Mapping

from training.config import schedule as sections
from training.core.schedules import Plateau, linear_warmup


class PlateauState:
    """``Plateau`` with the settings of a run: what a checkpoint keeps of a schedule."""

    def __init__(self, config: sections.Plateau, base_lr: float) -> None:
        self._config = config
        self._base_lr = base_lr
        self._plateau = Plateau()

    @property
    def factor(self) -> float:
        """The share of the optimizer's rate now in force."""
        return self._plateau.factor

    def update(self, metric: float, maximize: bool) -> bool:
        """Take in one validation's ``metric``; True when the rate fell. NaN counts as no progress."""
        config = self._config
        return self._plateau.update(
            metric,
            maximize,
            lr=self._base_lr,
            factor=config.factor,
            patience=config.patience,
            threshold=config.threshold,
            cooldown=config.cooldown,
            min_lr=config.min_lr,
        )

    def state(self) -> dict[str, float]:
        """The numbers to save; ``best`` is left out until there is one."""
        return {name: value for name, value in vars(self._plateau).items() if value is not None}

    def load(self, numbers: Mapping[str, float]) -> None:
        """Go on from ``state()``."""
        self._plateau = Plateau(
            factor=float(numbers["factor"]),
            best=float(numbers["best"]) if "best" in numbers else None,
            bad_validations=int(numbers["bad_validations"]),
            cooldown_left=int(numbers["cooldown_left"]),
        )


class PlateauSchedule:
    """The warm-up, then the optimizer's rate times ``plateau.factor``, which falls by ``plateau.update``."""

    def __init__(self, config: sections.Plateau, base_lr: float, total_steps: int) -> None:
        self._config = config
        self._base_lr = base_lr
        self.plateau = PlateauState(config, base_lr)

    def lr(self, step: int) -> float:
        share = linear_warmup(step, self._config.warmup_steps, self._config.warmup_start_factor)
        return self._base_lr * share * self.plateau.factor

    def momentum(self, step: int) -> float | None:
        return None
