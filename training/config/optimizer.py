"""``[optimizer]``: how gradients change the weights."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from training.config.fields import Section, setting

Beta = Annotated[float, Field(ge=0.0, lt=1.0)]


def _rate(
    default: float, help: str = "Size of a step at its largest: the schedule rises to it or falls from it."
) -> Any:
    return setting(default, title="Learning rate", help=help, gt=0.0, le=100.0, log_scale=True)


class OptimizerSection(Section):
    """What every optimizer can be told. Fused kernels are used wherever torch has them.

    A network's stages are its pieces from the input to the head (``training.models.stages``): fine-tuning trains the head,
    or the last ones, otherwise than what comes before.
    """

    lr: float = _rate(1e-3)
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
        title="Decay biases, norms and embeddings",
        help="Apply weight decay to biases, normalisation weights and embeddings too. Off is right for nearly every model.",
        advanced=True,
    )
    freeze: Literal["off", "all_but_head", "stages"] = setting(
        "off",
        title="Freeze",
        help="What keeps the weights it began with, for fine-tuning a pretrained network: all_but_head trains the last "
        "layer alone, stages freezes the first ones. Their batch norms keep their statistics, too.",
        advanced=True,
    )
    freeze_stages: int = setting(
        1,
        title="Frozen stages",
        help="How many stages, counted from the input, freeze = stages keeps as they are; a block of a residual network or a "
        "transformer is one stage.",
        unit="stages",
        advanced=True,
        ge=1,
        le=10**4,
    )
    unfreeze_epoch: int | None = setting(
        None,
        title="Unfreeze after",
        help="Train everything after this many epochs: first the head, then all. Empty: what is frozen stays so.",
        unit="epochs",
        placeholder="never",
        advanced=True,
        ge=1,
    )
    head_lr_factor: float = setting(
        1.0,
        title="Head rate factor",
        help="The head's learning rate as a multiple of the others'; 10 is usual where the head is new and the rest is not.",
        advanced=True,
        gt=0.0,
        le=1e4,
        log_scale=True,
    )
    layer_decay: float = setting(
        1.0,
        title="Layer-wise decay",
        help="Each stage's learning rate is this share of the next one's, so that the first layers move least; 0.65 to 0.9 "
        "is usual for fine-tuning transformers, 1 is off.",
        advanced=True,
        gt=0.0,
        le=1.0,
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
    lr: float = _rate(0.05)
    momentum: float = setting(
        0.9, title="Momentum", help="Share of the last step carried into the next.", ge=0.0, lt=1.0
    )
    nesterov: bool = setting(True, title="Nesterov", help="Look ahead along the momentum; needs momentum above 0.")


class DecoupledAdamSection(OptimizerSection):
    """Settings of the Adams whose weight decay torch can take in either way."""

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
    decoupled_weight_decay: bool = setting(
        True,
        title="Decoupled decay",
        help="Shrink the weights themselves, as AdamW does. Off: the decay is part of the gradient (L2).",
        advanced=True,
    )


class NAdam(DecoupledAdamSection):
    """Adam with Nesterov's look ahead: often a little faster than Adam at the same rate."""

    kind: Literal["nadam"] = "nadam"
    lr: float = _rate(2e-3)
    momentum_decay: float = setting(
        4e-3,
        title="Momentum decay",
        help="How slowly the momentum rises to the first beta at the start.",
        advanced=True,
        ge=0.0,
        le=1.0,
        log_scale=True,
    )


class RAdam(DecoupledAdamSection):
    """Adam that begins without adapting until its variance is known: needs no warm-up."""

    kind: Literal["radam"] = "radam"


class Adagrad(OptimizerSection):
    """A rate of its own for each weight, which falls with all its gradients so far: for rare features."""

    kind: Literal["adagrad"] = "adagrad"
    lr: float = _rate(0.01)
    lr_decay: float = setting(
        0.0,
        title="Rate decay",
        help="Divide the rate by 1 + this times the steps done, besides what the schedule does.",
        advanced=True,
        ge=0.0,
        le=1.0,
        log_scale=True,
    )
    initial_accumulator_value: float = setting(
        0.0,
        title="Initial sum",
        help="What each weight's sum of squared gradients begins with; more makes the first steps smaller.",
        advanced=True,
        ge=0.0,
        le=1e6,
        log_scale=True,
    )
    eps: float = setting(
        1e-10,
        title="Epsilon",
        help="Added to the denominator for numerical safety.",
        advanced=True,
        gt=0.0,
        le=1.0,
        log_scale=True,
    )


class RMSprop(OptimizerSection):
    """Steps divided by the recent size of each weight's gradient; an old favourite of recurrent networks."""

    kind: Literal["rmsprop"] = "rmsprop"
    momentum: float = setting(
        0.0, title="Momentum", help="Share of the last step carried into the next.", ge=0.0, lt=1.0
    )
    alpha: float = setting(
        0.99,
        title="Alpha",
        help="Decay of the running mean of squared gradients.",
        advanced=True,
        ge=0.0,
        lt=1.0,
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
    centered: bool = setting(
        False,
        title="Centered",
        help="Divide by the gradient's spread around its mean instead of its size.",
        advanced=True,
    )


class Adafactor(OptimizerSection):
    """Adaptive like Adam with next to no memory: it keeps the rows' and columns' means of squared gradients only."""

    kind: Literal["adafactor"] = "adafactor"
    lr: float = _rate(
        0.01,
        "Highest size of a step relative to the weights' own size; it falls with the root of the steps besides what the "
        "schedule does.",
    )
    beta2_decay: float = setting(
        -0.8,
        title="Beta 2 decay",
        help="Power of the step by which the mean of squared gradients forgets more slowly.",
        advanced=True,
        ge=-10.0,
        le=0.0,
    )
    eps1: float | None = setting(
        None,
        title="Epsilon 1",
        help="Smallest root of a squared gradient's mean.",
        placeholder="the number format's own",
        advanced=True,
        gt=0.0,
        le=1.0,
        log_scale=True,
    )
    eps2: float = setting(
        1e-3,
        title="Epsilon 2",
        help="Smallest size of the weights that a step is measured by, so that weights at zero get away from there.",
        advanced=True,
        gt=0.0,
        le=1.0,
        log_scale=True,
    )
    d: float = setting(
        1.0,
        title="Update clip",
        help="A step whose root mean square exceeds this is scaled down to it.",
        advanced=True,
        ge=1.0,
        le=1e6,
        log_scale=True,
    )


class Muon(OptimizerSection):
    """Orthogonal steps for the hidden layers' matrices and filters, AdamW for all the rest."""

    kind: Literal["muon"] = "muon"
    weight_decay: float = setting(
        0.1,
        title="Weight decay",
        help="Pulls weights towards zero, Muon's and AdamW's alike; 0.01 to 0.1 is usual.",
        ge=0.0,
        le=10.0,
        log_scale=True,
    )
    momentum: float = setting(
        0.95, title="Momentum", help="Decay of the running mean of gradients that is made orthogonal.", ge=0.0, lt=1.0
    )
    nesterov: bool = setting(True, title="Nesterov", help="Look ahead along the momentum.", advanced=True)
    ns_steps: int = setting(
        5,
        title="Newton-Schulz steps",
        help="Iterations that make a step orthogonal; more are slower and hardly better.",
        advanced=True,
        ge=1,
        lt=100,
    )
    adjust_lr_fn: Literal["match_rms_adamw", "original", "spectral_unclamped"] = setting(
        "match_rms_adamw",
        title="Rate adjustment",
        help="How a matrix's shape scales its steps. match_rms_adamw makes them as large as AdamW's, so that AdamW's rates "
        "fit; the others want rates about twenty times as high.",
        advanced=True,
    )
    adamw_lr_factor: float = setting(
        1.0,
        title="AdamW's rate factor",
        help="The learning rate of embeddings, the output layer, biases and norms as a multiple of Muon's.",
        gt=0.0,
        le=1e3,
        log_scale=True,
    )
    adamw_betas: tuple[Beta, Beta] = setting(
        (0.9, 0.95),
        title="AdamW's betas",
        help="Decay of the running mean of gradients and of their squares, where AdamW is used.",
        advanced=True,
        strict=False,
    )
    adamw_eps: float = setting(
        1e-8,
        title="AdamW's epsilon",
        help="Added to AdamW's denominator for numerical safety.",
        advanced=True,
        gt=0.0,
        le=1.0,
        log_scale=True,
    )


WITHOUT_MOMENTUM = ("adagrad", "adafactor")
"""Kinds with neither a momentum nor betas: a schedule has none to cycle."""

Optimizer = Annotated[
    AdamW | Adam | Sgd | NAdam | RAdam | Adagrad | RMSprop | Adafactor | Muon, Field(discriminator="kind")
]
