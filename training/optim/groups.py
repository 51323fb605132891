"""Which parameters get weight decay."""

from __future__ import annotations

from typing import Any

from torch import nn

from training.config.optimizer import OptimizerSection

# torch keeps no common base for its normalisation layers; `_BatchNorm` and `_InstanceNorm` cover theirs, lazy and
# synchronised ones included.
_NORM_LAYERS = (
    nn.modules.batchnorm._NormBase,
    nn.GroupNorm,
    nn.LayerNorm,
    nn.RMSNorm,
    nn.LocalResponseNorm,
)


def parameter_groups(model: nn.Module, config: OptimizerSection) -> list[dict[str, Any]]:
    """The trainable parameters of ``model`` as optimizer groups "decay" and "no decay", in the model's own order.

    Biases, everything inside normalisation layers and every parameter of at most one dimension (scales, class
    tokens' gains) get no weight decay unless ``config.decay_bias_and_norm``. Frozen parameters and empty groups are
    left out; a parameter shared by several modules appears once, without decay if any of its places says so.
    """
    spared = set() if config.decay_bias_and_norm else _spared(model)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {
            "name": "decay",
            "params": [parameter for parameter in trainable if id(parameter) not in spared],
            "weight_decay": config.weight_decay,
        },
        {
            "name": "no decay",
            "params": [parameter for parameter in trainable if id(parameter) in spared],
            "weight_decay": 0.0,
        },
    ]
    return [group for group in groups if group["params"]]


def _spared(model: nn.Module) -> set[int]:
    spared: set[int] = set()
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            if isinstance(module, _NORM_LAYERS) or parameter.ndim <= 1 or name.endswith("bias"):
                spared.add(id(parameter))
    return spared
