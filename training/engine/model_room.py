"""Whether a model can be trained on a device at all: reckoned from the model once it is built, before its first step."""

from __future__ import annotations

import torch
from torch import nn

from training.config import RunConfig
from training.config.rules.memory_need import training_bytes
from training.config.rules.optimizer_state import averaging
from training.engine.device import total_memory
from training.engine.ranks.group import Ranks
from training.errors import TooLargeError, format_bytes
from training.models.networks.stages import stages
from training.optim.configured_groups import frozen_names

_LEAN = "adafactor"


def refuse_too_large(model: nn.Module, config: RunConfig, device: torch.device, ranks: Ranks) -> None:
    """Raise TooLargeError where weights, gradients and what the optimizer keeps are more than the memory that ``device`` has in all: no
    batch is small enough then. Each of the ``ranks`` holds the whole model, on a GPU of its own or beside the others."""
    forever = config.optimizer.unfreeze_epoch is None
    frozen = frozen_names(config.optimizer, stages(model)) if forever else set()
    weights = sum(parameter.nbytes for parameter in model.parameters())
    buffers = sum(buffer.nbytes for buffer in model.buffers())
    trained = sum(
        parameter.nbytes
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and name not in frozen
    )
    sharing = ranks.local_count if device.type == "cpu" else 1
    need = sharing * training_bytes(config, weights, buffers, trained)
    total, whose = total_memory(device)
    if need <= total:
        return
    optimizer = config.optimizer.kind
    each = f" in each of {sharing} processes" if sharing > 1 else ""
    copies = 2 if averaging(config) else 1
    lean = sharing * (copies * (weights + buffers) + trained) <= total and optimizer != _LEAN
    raise TooLargeError(
        f"The model does not fit: its {format_bytes(weights)} of weights{each}, their gradients and what {optimizer} keeps of them take "
        f"{format_bytes(need)}, more than the {format_bytes(total)} {whose}.",
        f"Choose a smaller model, freeze some of it (optimizer.freeze){f', or set optimizer.kind to {_LEAN}, which keeps little' if lean else ''}."
        + _explain_ranks(sharing, ranks.count),
    )


def _explain_ranks(sharing: int, count: int) -> str:
    if count == 1:
        return ""
    if sharing > 1:
        return " Fewer processes need less."
    return " Each GPU holds the whole model, so more of them do not help."
