"""What a configuration needs of disk and memory for a network, reckoned before there is one of them."""

from __future__ import annotations

from training.config.rules.optimizer_state import averaging, keeps_momentum
from training.config.run import RunConfig

_OPTIMIZER_TENSORS = {"sgd": 1, "adagrad": 1, "rmsprop": 2, "adafactor": 0, "muon": 1}
"""How many tensors of the weights' size each optimizer remembers (Adam: two moments; SGD: the momentum buffer)."""


def checkpoint_bytes(
    config: RunConfig, parameter_bytes: int, buffer_bytes: int, trained_bytes: int | None = None
) -> int:
    """About how large one checkpoint is: weights, what the optimizer remembers of those that are trained (``trained_bytes``; None: all), the
    average of the weights if there is one."""
    kept = _OPTIMIZER_TENSORS.get(config.optimizer.kind, 2) - (not keeps_momentum(config))
    if getattr(config.optimizer, "amsgrad", False) or getattr(config.optimizer, "centered", False):
        kept += 1
    copies = 2 if averaging(config) else 1
    trained_bytes = parameter_bytes if trained_bytes is None else trained_bytes
    return copies * (parameter_bytes + buffer_bytes) + kept * trained_bytes


def training_bytes(config: RunConfig, parameter_bytes: int, buffer_bytes: int, trained_bytes: int | None = None) -> int:
    """Memory that weights, gradients and optimizer take while training; activations and data come on top."""
    gradients = parameter_bytes if trained_bytes is None else trained_bytes
    return checkpoint_bytes(config, parameter_bytes, buffer_bytes, trained_bytes) + gradients
