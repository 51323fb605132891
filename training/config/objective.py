"""``[objective]``: the task, its loss and what is measured."""

from __future__ import annotations

from typing import ClassVar, Literal

from training.config.fields import Section, setting
from training.facts import Target


class ObjectiveSection(Section):
    """What is known of every task: the targets it takes, and the metrics it reports beside the loss, the usual one first."""

    takes: ClassVar[tuple[Target, ...]]
    metrics: ClassVar[tuple[str, ...]]


class Classification(ObjectiveSection):
    """Each sample belongs to exactly one class."""

    takes: ClassVar[tuple[Target, ...]] = ("class",)
    metrics: ClassVar[tuple[str, ...]] = ("accuracy",)

    kind: Literal["classification"] = "classification"
    loss: Literal["cross_entropy"] = setting(
        "cross_entropy", title="Loss", help="Cross-entropy over the class logits (softmax inside the loss)."
    )
    label_smoothing: float = setting(
        0.0,
        title="Label smoothing",
        help="Share of each target spread over all classes; 0.1 often helps large models a little.",
        ge=0.0,
        lt=1.0,
    )


Objective = Classification
