"""The network of a run as Python source: the classes of ours that it has, and the statements that make it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from training import catalog
from training.config.sections.model import WhitenedCnn
from training.config.sections.pretrained import TimmModel, TorchvisionModel, TorchvisionSegmentation
from training.config.sections.user_file import UserFile
from training.data.batching.batches import LOOKED_AT
from training.errors import InputError
from training.export.bundle import ExportBundle
from training.models import make_model
from training.tutorial.definitions import OURS, Definitions
from training.tutorial.literals import ONE_LINE, call, code, keywords


@dataclass(frozen=True)
class Network:
    """The source of its classes, and the lines that make it in the function ``makes``."""

    title: str
    making: list[str]
    code: str = ""
    makes: str = "make_model"


def describe_network(bundle: ExportBundle, trained: bool = False, makes: str = "make_model") -> Network:
    """For the templates. Of a network that is ``trained``, the weights are going to be loaded. Raises InputError for one that
    cannot be written."""
    config, model, outputs = bundle.config.model, bundle.model, bundle.objective.outputs
    replaced, answer = [], "model"
    if isinstance(config, TimmModel):
        made = call("timm.create_model", [code(config.name), *keywords(**timm_arguments(bundle))])
    elif isinstance(config, TorchvisionModel | TorchvisionSegmentation):
        from training.models.zoo.torchvision_zoo import builder_settings  # an engine may be without torchvision

        function, arguments = config.name, builder_settings(config.name, bundle.facts.shape)
        if isinstance(config, TorchvisionSegmentation):
            function, arguments = f"segmentation.{config.name}", {"weights_backbone": None}
            answer = f"{type(model).__name__}(model.backbone, model.classifier, all_levels={model.all_levels})"
        given = ["weights=None", *keywords(num_classes=outputs, **arguments)]
        made = call(f"torchvision.models.{function}", given)
        if bundle.facts.shape[0] != 3:
            name, layer = next(each for each in model.named_modules() if isinstance(each[1], nn.Conv2d))
            replaced = [f'model.set_submodule("{name}", {_write_layer(layer)})  # for other channels than three']
    else:
        made = _write_layer(model, width=0 if type(model) is nn.Sequential else ONE_LINE)
        if isinstance(config, WhitenedCnn) and not trained:
            made = f"prepare_whitening({made})"
    making = [f"model = {made}", *replaced, f"return {answer}"] if answer != "model" or replaced else [f"return {made}"]
    return Network(catalog.entry("model", config.kind).summary, making, _write_classes(model), makes)


@dataclass(frozen=True)
class TrainingTraits:
    """Whether the network draws random numbers while it trains (dropout, stochastic depth) and changes its buffers (batch
    norm), and the form of its inputs."""

    dropout: bool
    buffers: bool
    channels_last: bool
    whitened_at_a_time: int


def examine_training(bundle: ExportBundle) -> TrainingTraits:
    """Send two samples through the network as it trains."""
    config, facts, normalization = bundle.config, bundle.facts, bundle.normalization
    model = make_model(config.model, facts, bundle.objective.outputs, config.seed, bundle.code_file).train()
    buffers = [buffer.clone() for buffer in model.buffers()]
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        before = torch.get_rng_state()
        model(normalization.apply(bundle.samples()[:2]))
        draws = not torch.equal(before, torch.get_rng_state())
    moves = not all(map(torch.equal, buffers, model.buffers()))
    # Checkpoints of earlier versions leave it to their configuration.
    told = bundle.manifest.channels_last
    last = config.precision.channels_last != "off" if told is None else told
    moves = moves or (isinstance(config.model, UserFile) and bool(buffers))
    at_a_time = max(1, LOOKED_AT // torch.Size(facts.shape).numel())
    return TrainingTraits(draws, moves, facts.layout == "image" and last, at_a_time)


def timm_arguments(bundle: ExportBundle) -> dict[str, Any]:
    """As the network was built: with the images' size where it wants to be told that."""
    import timm

    config, shape = bundle.config.model, bundle.facts.shape
    assert isinstance(config, TimmModel)
    settings: dict[str, Any] = {"num_classes": bundle.objective.outputs, "in_chans": shape[0]}
    if config.drop_path_rate:
        settings["drop_path_rate"] = config.drop_path_rate
    sized = {"img_size": list(shape[1:]), **settings}
    try:
        timm.create_model(config.name, **sized)
    except TypeError:
        return settings
    return sized


def _write_classes(model: nn.Module) -> str:
    """The source of every class of ours in ``model``, with all that they use of our own code."""
    definitions = Definitions()
    for layer in model.modules():
        if _is_ours(layer):
            definitions.take(type(layer).__module__, type(layer).__name__)
    return definitions.text


def _is_ours(layer: nn.Module) -> bool:
    return type(layer).__module__.partition(".")[0] == OURS


def _write_layer(layer: nn.Module, width: int = ONE_LINE) -> str:
    """The call that makes ``layer`` again. Layers of torch and our own networks keep each argument as an attribute of that name."""
    kind = type(layer)
    if kind is nn.Sequential:
        return call("nn.Sequential", [_write_layer(part) for part in layer.children()], width)
    plain, named, same = [], {}, None
    for name, parameter in inspect.signature(kind).parameters.items():
        value = getattr(layer, name, parameter.default)
        if isinstance(value, nn.Module):
            parts = value.children() if parameter.kind is parameter.VAR_POSITIONAL else [value]
            plain += [_write_layer(part) for part in parts]
            continue
        if name == "bias" and not _is_ours(layer):
            value = value is not None
        if value is parameter.empty or not _is_plain(value):
            raise InputError(
                f"model.kind: {kind.__name__} cannot be built again from plain values ({name}); export another model."
            )
        if _is_ours(layer):
            named[name] = list(value) if isinstance(value, tuple) else value
            continue
        value = value[0] if isinstance(value, tuple) and len(set(value)) == 1 else value  # (3, 3) is said as 3
        if parameter.default is parameter.empty:
            plain.append(code(value))
            same = value  # a pool's size, from which its stride follows
        elif value != parameter.default and not (name == "stride" and parameter.default is None and value == same):
            named[name] = value
    return call(f"{'' if _is_ours(layer) else 'nn.'}{kind.__name__}", [*plain, *keywords(**named)], ONE_LINE)


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)
