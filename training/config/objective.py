"""``[objective]``: the task, its loss and what is measured."""

from __future__ import annotations

from typing import Literal

from training.config.fields import Section, setting


class Classification(Section):
    """Each sample belongs to exactly one class."""

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
