"""A model in plain facts, enough to build it again with torch (and torchvision) alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from training.config.zoo import TorchvisionModel
from training.errors import InputError
from training.export.material import Material
from training.export.network import FILE, constructor_of, source_of
from training.models.torchvision_zoo import builder_settings

_ARGUMENTS: dict[type[nn.Module], tuple[str, ...]] = {
    nn.Flatten: (),
    nn.Linear: ("in_features", "out_features"),
    nn.Conv2d: (
        "in_channels",
        "out_channels",
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
    ),
    nn.BatchNorm2d: ("num_features", "eps", "momentum"),
    nn.BatchNorm1d: ("num_features", "eps", "momentum"),
    nn.GroupNorm: ("num_groups", "num_channels"),
    nn.LayerNorm: ("normalized_shape",),
    nn.MaxPool2d: ("kernel_size", "stride"),
    nn.AvgPool2d: ("kernel_size", "stride", "padding"),
    nn.Dropout: ("p",),
    nn.ReLU: (),
    nn.GELU: (),
    nn.SiLU: (),
    nn.Tanh: (),
}
"""The layers our own networks are made of, and what each is built from."""

_DEFAULTS = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "padding_mode": "zeros"}


def describe_architecture(material: Material) -> dict[str, Any]:
    """``kind`` and ``settings`` of the configuration, and how to build it.

    ``builder`` is "file", then ``file`` lies beside the model and has a class ``name`` that takes ``arguments``;
    "torch.nn.Sequential", then ``layers`` lists name, type (in torch.nn), arguments and parameters of
    each; or "torchvision.models.get_model", then ``name`` and ``arguments`` go into that function and ``replaced``
    lists the layers to put in place of its own.
    """
    config, model = material.config.model, material.model
    facts: dict[str, Any] = {"kind": config.kind, "settings": config.model_dump(mode="json", exclude={"kind"})}
    facts["parameters"] = sum(parameter.numel() for parameter in model.parameters())
    if isinstance(config, TorchvisionModel):
        replaced = [] if material.facts.shape[0] == 3 else [_first_convolution(model)]
        return facts | {
            "builder": "torchvision.models.get_model",
            "name": config.name,
            "arguments": {
                "num_classes": material.objective.outputs,
                **builder_settings(config.name, material.facts.shape),
            },
            "replaced": replaced,
        }
    if not isinstance(model, nn.Sequential):
        return facts | {
            "builder": "file",
            "file": FILE,
            "name": type(model).__name__,
            "arguments": constructor_of(model),
        }
    layers = [_layer(name, layer) for name, layer in model.named_children()]
    return facts | {"builder": "torch.nn.Sequential", "layers": layers}


def write_network(material: Material, folder: Path) -> None:
    """Put the network's own code into ``folder``, where its description says so."""
    if describe_architecture(material)["builder"] == "file":
        (folder / FILE).write_text(source_of(material.model), encoding="utf-8")


def _first_convolution(model: nn.Module) -> dict[str, Any]:
    """The layer our own builder puts in place of torchvision's when pictures do not have three channels."""
    name, layer = next((name, layer) for name, layer in model.named_modules() if isinstance(layer, nn.Conv2d))
    return _layer(name, layer)


def _layer(name: str, layer: nn.Module) -> dict[str, Any]:
    kind = type(layer)
    if kind not in _ARGUMENTS:
        raise InputError(f"model.kind: a layer of type {kind.__name__} cannot be described yet; export another model.")
    arguments = {argument: _plain(getattr(layer, argument)) for argument in _ARGUMENTS[kind]}
    if kind in (nn.MaxPool2d, nn.AvgPool2d) and arguments["stride"] == arguments["kernel_size"]:
        del arguments["stride"]  # torch's own default
    if kind is nn.Conv2d:
        arguments = {key: value for key, value in arguments.items() if _DEFAULTS.get(key) != value}
    if isinstance(layer, nn.Conv2d | nn.Linear) and layer.bias is None:
        arguments["bias"] = False
    return {
        "name": name,
        "type": kind.__name__,
        "arguments": arguments,
        "parameters": sum(parameter.numel() for parameter in layer.parameters()),
    }


def _plain(value: Any) -> Any:
    """JSON's form of an argument; (3, 3) is said as 3."""
    if isinstance(value, tuple):
        return value[0] if len(set(value)) == 1 else list(value)
    return value
