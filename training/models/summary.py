"""What a network is made of, layer by layer."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor, nn

from training.facts import DataFacts
from training.models.meta_forward import forward_meta, switch_mode
from training.protocol.answers import Layer, ModelSummary


def summarize(model: nn.Module, facts: DataFacts) -> ModelSummary:
    """The layers of ``model`` for such samples, in the order they run: each module that has no parts, or owns parameters
    itself; without what the network is built for.

    The forward pass runs without data (torch's meta device); model, modes and random state are left as they were.
    """
    outputs = _output_shapes(model, facts)
    modules = dict(model.named_modules())
    unseen = [name for name in modules if name not in outputs and _own_parameters(modules[name])]
    counted: set[int] = set()
    layers = [_describe(name, modules[name], outputs.get(name), counted) for name in [*outputs, *unseen]]
    parameters = list(model.parameters())
    return ModelSummary(
        layers=tuple(layers),
        parameters=sum(parameter.numel() for parameter in parameters),
        trainable_parameters=sum(parameter.numel() for parameter in parameters if parameter.requires_grad),
        parameter_bytes=sum(parameter.nbytes for parameter in parameters),
        buffer_bytes=sum(buffer.nbytes for buffer in model.buffers()),
    )


def _own_parameters(module: nn.Module) -> list[nn.Parameter]:
    return list(module.parameters(recurse=False))


def _describe(name: str, module: nn.Module, output_shape: tuple[int, ...] | None, counted: set[int]) -> Layer:
    """A shared parameter counts at its first layer only."""
    first = {id(each): each.numel() for each in _own_parameters(module) if id(each) not in counted}
    counted.update(first)
    kind = type(module).__name__
    return Layer(name=name, type=kind, output_shape=output_shape, parameters=sum(first.values()))


def _output_shapes(model: nn.Module, facts: DataFacts) -> dict[str, tuple[int, ...]]:
    """Output shape of each layer by name, in the order of their first call."""
    shapes: dict[str, tuple[int, ...]] = {}

    def note(name: str, _module: nn.Module, _inputs: Any, output: Any) -> None:
        first = output[0] if isinstance(output, tuple | list) else output
        if isinstance(first, Tensor):
            shapes.setdefault(name, tuple(first.shape[1:]))

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
