"""``[objective]`` of several targets at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from training.config.fields import advanced, setting
from training.config.sections.objective_section import ObjectiveSection

TASK_METRICS = ("accuracy", "f1", "auroc", "r2", "rmse", "mae")
"""What may be measured of a target, each as ``NAME/accuracy``: the first two of classes, the third of two, the others of numbers."""


class MultiTask(ObjectiveSection):
    """Each sample has several targets, of which each is a class or a number with a loss of its own."""

    takes = ("tasks",)
    reports = ("loss",)

    kind: Literal["multi_task"] = "multi_task"
    weights: tuple[Annotated[float, Field(gt=0.0, le=1e6)], ...] = setting(
        (),
        "Task weights",
        "Weight of each target's loss in their sum, in the order of the target columns, for example 1, 0.5. Empty: all 1.",
        also="loss weights heads tasks",
        strict=False,
        max_length=1000,
    )
    loss: Literal["mse", "l1", "huber"] = setting(
        "mse",
        "Loss of numbers",
        "For targets that are numbers: squared errors, absolute ones, or Huber's, which are squared up to delta. Classes have "
        "cross-entropy, two classes binary cross-entropy.",
        also="MSELoss L1Loss HuberLoss",
    )
    delta: float = advanced(
        1.0,
        "Huber delta",
        "Where the Huber loss turns from squared to absolute, in standard deviations.",
        gt=0.0,
        le=1e12,
    )

    @staticmethod
    def metrics_of(targets: Sequence[str]) -> list[str]:
        """What may be measured of such targets; the data tells which of it is."""
        return [f"{target}/{name}" for target in targets for name in TASK_METRICS]
