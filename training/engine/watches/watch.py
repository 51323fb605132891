"""What core's step is handed, and who may hand it on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from training.core.losses import Loss
from training.runs.records.columns import Columns


class Given(NamedTuple):
    """What varies in ``core.step.train_step``."""

    model: Callable[[Tensor], Any]
    loss: Loss
    clip: Callable[..., Tensor]
    guard: Callable[..., Any]


class Watch(Protocol):
    """Measures something of steps on the device, without waiting for it, and changes nothing of them: no weight, no random
    number."""

    file: str
    """In the run folder, to be written by a ``ColumnLog``."""

    @property
    def columns(self) -> Columns:
        """What the numbers are."""
        ...

    def find_next(self, step: int) -> int:
        """The first step from ``step`` on that is looked at."""
        ...

    def wrap(self, step: int, given: Given) -> Given:
        """What the attempt at ``step`` is to be given in the place of ``given``: the same, and it is noted what passes."""
        ...

    def take(self) -> Tensor | None:
        """What was measured of the step attempted last, 1-dim, once; None where it is not looked at."""
        ...

    def fold(self, values: NDArray[np.float32]) -> NDArray[Any]:
        """What was measured of some steps (steps, numbers), as it is to be written: (steps, columns)."""
        ...
