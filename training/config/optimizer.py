"""``[optimizer]``: how gradients change the weights."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from training.config.fields import Section, setting

Beta = Annotated[float, Field(ge=0.0, lt=1.0)]


class OptimizerSection(Section):
    """What every optimizer can be told. Fused kernels are used wherever torch has them."""

    lr: float = setting(
        1e-3,
        title="Learning rate",
        help="Size of a step. A schedule raises or lowers it; one-cycle's highest rate, when set, replaces it.",
        gt=0.0,
        le=100.0,
        log_scale=True,
    )
    weight_decay: float = setting(
        0.0,
        title="Weight decay",
        help="Pulls weights towards zero; 0.01 to 0.1 is usual for AdamW.",
        ge=0.0,
        le=10.0,
        log_scale=True,
    )
    decay_bias_and_norm: bool = setting(
        False,
        title="Decay biases and norms",
        help="Apply weight decay to biases and normalisation weights too. Off is right for nearly every model.",
        advanced=True,
    )


class AdamSection(OptimizerSection):
    """Settings of the Adam family, with torch's names."""

    betas: tuple[Beta, Beta] = setting(
        (0.9, 0.999),
        title="Betas",
        help="Decay of the running mean of gradients and of their squares.",
        advanced=True,
        strict=False,
    )
    eps: float = setting(
        1e-8,
        title="Epsilon",
        help="Added to the denominator for numerical safety.",
        advanced=True,
        gt=0.0,
        le=1.0,
        log_scale=True,
    )
    amsgrad: bool = setting(False, title="AMSGrad", help="Use the largest second moment seen so far.", advanced=True)


class AdamW(AdamSection):
    """Adam with decoupled weight decay: the best first choice."""

    kind: Literal["adamw"] = "adamw"
    weight_decay: float = setting(
        0.01,
        title="Weight decay",
        help="Pulls weights towards zero; 0.01 to 0.1 is usual.",
        ge=0.0,
        le=10.0,
        log_scale=True,
    )


class Adam(AdamSection):
    """Adam with weight decay inside the gradient (L2)."""

    kind: Literal["adam"] = "adam"


class Sgd(OptimizerSection):
    """Stochastic gradient descent with momentum."""

    kind: Literal["sgd"] = "sgd"
    lr: float = setting(
        0.05,
        title="Learning rate",
        help="Size of a step. A schedule raises or lowers it; one-cycle's highest rate, when set, replaces it.",
        gt=0.0,
        le=100.0,
        log_scale=True,
    )
    momentum: float = setting(
        0.9, title="Momentum", help="Share of the last step carried into the next.", ge=0.0, lt=1.0
    )
    nesterov: bool = setting(True, title="Nesterov", help="Look ahead along the momentum; needs momentum above 0.")


Optimizer = Annotated[AdamW | Adam | Sgd, Field(discriminator="kind")]
