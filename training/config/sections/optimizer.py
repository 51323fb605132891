"""``[optimizer]``: how gradients change the weights."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from training.config.fields import Count, Section, Share, ShareAboveZero, ShareBelowOne, advanced, setting

Beta = Annotated[float, Field(ge=0.0, lt=1.0)]

LearningRate = Annotated[
    float,
    setting(
        title="Learning rate",
        help="Size of a step at its largest (lr): the LR scheduler rises to it or falls from it.",
        gt=0.0,
        le=100.0,
        log_scale=True,
    ),
]
WeightDecay = Annotated[
    float,
    setting(
        title="Weight decay",
        help="Pulls weights towards zero (weight_decay); 0.01 to 0.1 is usual for AdamW and Muon.",
        also="L2 regularization",
        ge=0.0,
        le=10.0,
        log_scale=True,
    ),
]
Momentum = Annotated[
    ShareBelowOne, setting(title="Momentum", help="Share of the last step carried into the next (momentum).")
]
Betas = Annotated[
    tuple[Beta, Beta],
    advanced(title="Betas", help="Decay of the running mean of gradients and of their squares (betas).", strict=False),
]
Epsilon = Annotated[
    ShareAboveZero,
    advanced(title="Epsilon", help="Added to the denominator for numerical safety (eps).", log_scale=True),
]


class OptimizerSection(Section):
    """What every optimizer can be told. Fused kernels are used wherever torch has them.

    A network's stages are its pieces from the input to the head (``training.models.networks.stages``): fine-tuning trains the head,
    or the last ones, otherwise than what comes before.
    """

    leading = frozenset({"lr", "weight_decay"})

    lr: LearningRate = 1e-3
    weight_decay: WeightDecay = 0.0
    decay_bias_and_norm: bool = advanced(
        False,
        "Decay biases, norms and embeddings",
        "Apply weight decay to biases, normalization weights and embeddings too. Off is right for nearly every model.",
    )
    freeze: Literal["off", "all_but_head", "stages"] = advanced(
        "off",
        "Freeze layers",
        "What keeps the weights it began with (requires_grad = False), for fine-tuning a pretrained network: All but head "
        "trains the last layer alone, First stages freezes the first ones. Their batch norms keep their statistics, too.",
        labels={"stages": "First stages"},
    )
    freeze_stages: int = advanced(
        1,
        "Frozen stages",
        "How many stages are frozen, counted from the input; a block of a residual network or a transformer is one stage.",
        unit="stages",
        ge=1,
        le=10**4,
    )
    unfreeze_epoch: Count | None = advanced(
        None,
        "Unfreeze at epoch",
        "Train everything after this many epochs: first the head, then all. Empty: what is frozen stays so.",
        also="unfreeze after",
        unit="epochs",
        placeholder="never",
    )
    head_lr_factor: float = advanced(
        1.0,
        "Head LR multiplier",
        "The head's learning rate as a multiple of the others'; 10 is usual where the head is new and the rest is not.",
        also="head rate factor discriminative",
        gt=0.0,
        le=1e4,
        log_scale=True,
    )
    layer_decay: ShareAboveZero = advanced(
        1.0,
        "Layer-wise LR decay (LLRD)",
        "Each stage's learning rate is this share of the next one's, so that the first layers move least; 0.65 to "
        "0.9 is usual for fine-tuning transformers, 1 is off.",
    )


class AdamSection(OptimizerSection):
    """Settings of the Adam family, with torch's names."""

    betas: Betas = (0.9, 0.999)
    eps: Epsilon = 1e-8
    amsgrad: bool = advanced(False, "AMSGrad", "Use the largest second moment seen so far.")


class AdamW(AdamSection):
    """Adam with decoupled weight decay: the best first choice."""

    kind: Literal["adamw"] = "adamw"
    weight_decay: WeightDecay = 0.01


class Adam(AdamSection):
    """Adam with weight decay inside the gradient (L2)."""

    kind: Literal["adam"] = "adam"


class Sgd(OptimizerSection):
    """Stochastic gradient descent with momentum: slower to tune, often strong on images."""

    kind: Literal["sgd"] = "sgd"
    lr: LearningRate = 0.05
    momentum: Momentum = 0.9
    nesterov: bool = setting(True, "Nesterov momentum", "Look ahead along the momentum; needs momentum above 0.")


class DecoupledAdamSection(OptimizerSection):
    """Settings of the Adams whose weight decay torch can take in either way."""

    betas: Betas = (0.9, 0.999)
    eps: Epsilon = 1e-8
    decoupled_weight_decay: bool = advanced(
        True,
        "Decoupled weight decay",
        "Shrink the weights themselves, as AdamW. Off: the decay is in the gradient (L2).",
    )


class NAdam(DecoupledAdamSection):
    """Adam with Nesterov's look ahead: often a little faster than Adam at the same rate."""

    kind: Literal["nadam"] = "nadam"
    lr: LearningRate = 2e-3
    momentum_decay: Share = advanced(
        4e-3, "Momentum decay", "How slowly the momentum rises to the first beta at the start.", log_scale=True
    )


class RAdam(DecoupledAdamSection):
    """Adam that begins without adapting until its variance is known: needs no warm-up."""

    kind: Literal["radam"] = "radam"


class Adagrad(OptimizerSection):
    """A rate of its own for each weight, which falls with all its gradients so far: for rare features and tables."""

    kind: Literal["adagrad"] = "adagrad"
    lr: LearningRate = 0.01
    lr_decay: Share = advanced(
        0.0, "LR decay", "Divide the rate by 1 + this times the steps done.", also="rate decay", log_scale=True
    )
    initial_accumulator_value: float = advanced(
        0.0,
        "Initial accumulator value",
        "What each weight's sum of squared gradients begins with; more makes the first steps smaller.",
        also="initial sum",
        ge=0.0,
        le=1e6,
        log_scale=True,
    )
    eps: Epsilon = 1e-10


class RMSprop(OptimizerSection):
    """Steps divided by the recent size of each weight's gradient: an old favorite of recurrent networks."""

    kind: Literal["rmsprop"] = "rmsprop"
    momentum: Momentum = 0.0
    alpha: ShareBelowOne = advanced(0.99, "Alpha", "Decay of the running mean of squared gradients.")
    eps: Epsilon = 1e-8
    centered: bool = advanced(
        False, "Centered", "Divide by the gradient's std around its mean instead of its root mean square."
    )


class Adafactor(OptimizerSection):
    """Adaptive like Adam with next to no memory for matrices, only the means of rows and columns: for transformers that barely fit."""

    kind: Literal["adafactor"] = "adafactor"
    lr: LearningRate = setting(
        0.01, help="Highest size of a step relative to the weights' own; falls with the root of the steps, too."
    )
    beta2_decay: float = advanced(
        -0.8, "Beta 2 decay", "Power of the step by which the mean of squares forgets more slowly.", ge=-10.0, le=0.0
    )
    eps1: Annotated[
        float | None,
        advanced(
            title="Epsilon 1",
            help="Smallest root of a squared gradient's mean (eps[0]).",
            placeholder="the number format's own",
            gt=0.0,
            le=1.0,
            log_scale=True,
        ),
    ] = None
    eps2: Epsilon = setting(
        1e-3, "Epsilon 2", "Smallest size of weights that a step is measured by (eps[1]): gets weights away from zero."
    )
    d: float = advanced(
        1.0,
        "Clipping threshold (d)",
        "A larger root mean square of a step is scaled to it.",
        also="update clip",
        ge=1.0,
        le=1e6,
        log_scale=True,
    )


class Muon(OptimizerSection):
    """Orthogonal steps for hidden matrices and filters, AdamW for the rest: strong for transformers and deep networks."""

    kind: Literal["muon"] = "muon"
    weight_decay: WeightDecay = 0.1
    momentum: Momentum = setting(0.95, help="Decay of the running mean of gradients that is made orthogonal.")
    nesterov: bool = advanced(True, "Nesterov momentum", "Look ahead along the momentum.")
    ns_steps: int = advanced(
        5, "Newton-Schulz steps", "Iterations that make a step orthogonal; more are hardly better.", ge=1, lt=100
    )
    adjust_lr_fn: Literal["match_rms_adamw", "original", "spectral_unclamped"] = advanced(
        "match_rms_adamw",
        "Adjust LR mode",
        "How a matrix's shape scales its steps. Match RMS of AdamW makes them as large as AdamW's, so that "
        "AdamW's rates fit; the others want rates about twenty times as high.",
        also="rate adjustment",
        labels={"match_rms_adamw": "Match RMS of AdamW"},
    )
    adamw_lr_factor: float = setting(
        1.0,
        "AdamW LR multiplier",
        "The learning rate of embeddings, the output layer, biases and norms as a multiple of Muon's.",
        also="AdamW's rate factor",
        gt=0.0,
        le=1e3,
        log_scale=True,
    )
    adamw_betas: Betas = setting(
        (0.9, 0.95), "AdamW betas", "Decay of the running mean of gradients and of their squares, by AdamW (betas)."
    )
    adamw_eps: Epsilon = setting(1e-8, "AdamW epsilon", "Added to AdamW's denominator for numerical safety (eps).")


WITHOUT_MOMENTUM = ("adagrad", "adafactor")
"""Kinds with neither a momentum nor betas: a schedule has none to cycle."""

Optimizer = Annotated[
    AdamW | Adam | Sgd | NAdam | RAdam | Adagrad | RMSprop | Adafactor | Muon, Field(discriminator="kind")
]
