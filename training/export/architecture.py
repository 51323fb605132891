"""A model in plain facts, enough to build it again with torch (torchvision, timm) alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from training.config.user_file import UserFile
from training.config.zoo import TimmModel, TorchvisionModel, TorchvisionSegmentation
from training.errors import InputError
from training.export.material import Material
from training.export.network import FILE, constructor_of, is_ours, source_of
from training.models.torchvision_zoo import builder_settings
from training.models.user_file import arguments_of, text_of

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

    ``builder`` is "torch.nn.Sequential", then ``layers`` lists name, type (in torch.nn), arguments and parameters of each;
    "file", then ``call`` in ``file``, which lies beside the model, is called with ``parts`` (built first) and
    ``arguments``; or "torchvision.models.get_model" or "timm.create_model", then ``name`` and ``arguments`` go into that
    function, and ``replaced`` lists the layers to put in place of its own.
    """
    config, model = material.config.model, material.model
    facts: dict[str, Any] = {"kind": config.kind, "settings": config.model_dump(mode="json", exclude={"kind"})}
    facts["parameters"] = sum(parameter.numel() for parameter in model.parameters())
    outputs = material.objective.outputs
    if isinstance(config, UserFile):
        code = text_of(config, material.code_file)
        arguments = arguments_of(config, code, material.facts, outputs)
        return facts | {"builder": "file", "file": FILE, "call": "build", "arguments": arguments, "parts": []}
    if isinstance(config, TorchvisionModel):
        settings = builder_settings(config.name, material.facts.shape)
        return facts | _torchvision(material, config.name, {"num_classes": outputs, **settings})
    if isinstance(config, TorchvisionSegmentation):
        arguments = {"num_classes": outputs, "weights_backbone": None}
        made = _torchvision(material, config.name, arguments)
        taken = {"attributes": ["backbone", "classifier"], **made}
        wrapped = {"all_levels": model.all_levels}
        return facts | {
            "builder": "file",
            "file": FILE,
            "call": type(model).__name__,
            "arguments": wrapped,
            "parts": [taken],
        }
    if isinstance(config, TimmModel):
        arguments = _timm_arguments(config, material.facts.shape, outputs)
        return facts | {"builder": "timm.create_model", "name": config.name, "arguments": arguments, "replaced": []}
    return facts | _own(model)


def write_network(material: Material, folder: Path) -> None:
    """Put the network's own code into ``folder``, where its description says so."""
    if FILE not in repr(describe_architecture(material)):
        return
    config = material.config.model
    if isinstance(config, UserFile):
        text = text_of(config, material.code_file).text
    else:
        text = source_of(material.model)
    (folder / FILE).write_text(text, encoding="utf-8")


def _own(model: nn.Module) -> dict[str, Any]:
    """One of our own networks: a Sequential of layers, or a class of ours."""
    if type(model) is nn.Sequential:
        layers = [_layer(name, layer) for name, layer in model.named_children()]
        return {"builder": "torch.nn.Sequential", "layers": layers}
    arguments, parts = constructor_of(model)
    described = [_own(part) if type(part) is nn.Sequential or is_ours(part) else _single(part) for part in parts]
    return {"builder": "file", "file": FILE, "call": type(model).__name__, "arguments": arguments, "parts": described}


def _single(layer: nn.Module) -> dict[str, Any]:
    return {"builder": "torch.nn", **_layer("", layer)}


def _torchvision(material: Material, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    replaced = [] if material.facts.shape[0] == 3 else [_first_convolution(material.model)]
    return {
        "builder": "torchvision.models.get_model",
        "name": name,
        "arguments": arguments,
        "replaced": replaced,
    }


def _timm_arguments(config: TimmModel, shape: tuple[int, ...], outputs: int) -> dict[str, Any]:
    """As the network was built: with the pictures' size where it wants to be told that."""
    import timm

    settings: dict[str, Any] = {"num_classes": outputs, "in_chans": shape[0]}
    if config.drop_path_rate:
        settings["drop_path_rate"] = config.drop_path_rate
    sized = {"img_size": list(shape[1:]), **settings}
    try:
        timm.create_model(config.name, **sized)
    except TypeError:
        return settings
    return sized


def _first_convolution(model: nn.Module) -> dict[str, Any]:
    """The layer our own builder puts in place of torchvision's when pictures do not have three channels."""
    name, layer = next((name, layer) for name, layer in model.named_modules() if isinstance(layer, nn.Conv2d))
    return _layer(name, layer)


def _layer(name: str, layer: nn.Module) -> dict[str, Any]:
    kind = type(layer)
    parameters = sum(parameter.numel() for parameter in layer.parameters())
    if is_ours(layer):
        return {"name": name, **_own(layer), "parameters": parameters}
    if kind not in _ARGUMENTS:
        raise InputError(f"model.kind: a layer of type {kind.__name__} cannot be described yet; export another model.")
    arguments = {argument: _plain(getattr(layer, argument)) for argument in _ARGUMENTS[kind]}
    if kind in (nn.MaxPool2d, nn.AvgPool2d) and arguments["stride"] == arguments["kernel_size"]:
        del arguments["stride"]  # torch's own default
    if kind is nn.Conv2d:
        arguments = {key: value for key, value in arguments.items() if _DEFAULTS.get(key) != value}
    if isinstance(layer, nn.Conv2d | nn.Linear) and layer.bias is None:
        arguments["bias"] = False
    return {"name": name, "type": kind.__name__, "arguments": arguments, "parameters": parameters}


def _plain(value: Any) -> Any:
    """JSON's form of an argument; (3, 3) is said as 3."""
    if isinstance(value, tuple):
        return value[0] if len(set(value)) == 1 else list(value)
    return value
