"""What a network is made of, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor, nn

from training.facts import DataFacts
from training.models.meta_forward import forward_meta, switch_mode


@dataclass(frozen=True)
class Layer:
    """A module that has no parts, or owns parameters itself; its name is "" for the model itself."""

    name: str
    type: str
    output_shape: list[int] | None
    """Without the batch; None where a parent uses its weights without calling it."""
    parameters: int
    """Its own; a shared parameter counts at its first layer only."""
    trainable: bool


@dataclass(frozen=True)
class ModelSummary:
    """The layers of a model in the order they run, and totals."""

    layers: list[Layer]
    parameters: int
    trainable_parameters: int
    parameter_bytes: int
    buffer_bytes: int


def summarize(model: nn.Module, facts: DataFacts) -> ModelSummary:
    """Summarize ``model`` for such samples.

    The forward pass runs without data (torch's meta device); model, modes and random state are left as they were.
    """
    outputs = _output_shapes(model, facts)
    modules = dict(model.named_modules())
    unseen = [name for name in modules if name not in outputs and _own_parameters(modules[name])]
    counted: set[int] = set()
    layers = [_describe(name, modules[name], outputs.get(name), counted) for name in [*outputs, *unseen]]
    parameters = list(model.parameters())
    return ModelSummary(
        layers=layers,
        parameters=sum(parameter.numel() for parameter in parameters),
        trainable_parameters=sum(parameter.numel() for parameter in parameters if parameter.requires_grad),
        parameter_bytes=sum(parameter.nbytes for parameter in parameters),
        buffer_bytes=sum(buffer.nbytes for buffer in model.buffers()),
    )


def _own_parameters(module: nn.Module) -> list[nn.Parameter]:
    return list(module.parameters(recurse=False))


def _describe(name: str, module: nn.Module, output_shape: list[int] | None, counted: set[int]) -> Layer:
    own = _own_parameters(module)
    first = {id(parameter): parameter.numel() for parameter in own if id(parameter) not in counted}
    counted.update(first)
    trainable = any(parameter.requires_grad for parameter in own)
    return Layer(name, type(module).__name__, output_shape, sum(first.values()), trainable)


def _output_shapes(model: nn.Module, facts: DataFacts) -> dict[str, list[int]]:
    """Output shape of each layer by name, in the order of their first call."""
    shapes: dict[str, list[int]] = {}

    def note(name: str, _module: nn.Module, _inputs: Any, output: Any) -> None:
        first = output[0] if isinstance(output, tuple | list) else output
        if isinstance(first, Tensor):
            shapes.setdefault(name, list(first.shape[1:]))

    handles = [
        module.register_forward_hook(partial(note, name))
        for name, module in model.named_modules()
        if not any(True for _ in module.children()) or _own_parameters(module)
    ]
    try:
        with switch_mode(model, training=False):
            forward_meta(model, facts)
    finally:
        for handle in handles:
            handle.remove()
    return shapes
