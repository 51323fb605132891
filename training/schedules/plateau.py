"""The one schedule that remembers something: it drops when the monitored metric stops improving."""

from __future__ import annotations

from collections.abc import Mapping

from training.config.sections import schedule as sections
from training.core.schedules import Plateau

_SETTINGS = ("factor", "patience", "threshold", "cooldown", "min_lr")


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

    @property
    def patience(self) -> int:
        """Validations without progress that it waits for; the next one makes the rate fall."""
        return self._config.patience

    def update(self, metric: float, maximize: bool) -> bool:
        """Take in one validation's ``metric``; True when the rate fell. NaN counts as no progress."""
        settings = {name: getattr(self._config, name) for name in _SETTINGS}
        return self._plateau.update(metric, maximize, lr=self._base_lr, **settings)

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
