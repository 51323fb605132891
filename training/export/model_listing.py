"""What the script of a run says about its network: the code that builds it with the run's initial weights."""

from __future__ import annotations

from typing import Any

import torch

from training import catalog
from training.config.model import WhitenedCnn
from training.config.user_file import UserFile
from training.config.zoo import TimmModel, TorchvisionSegmentation
from training.data.batches import LOOKED_AT
from training.export.architecture import describe_architecture
from training.export.material import Material
from training.export.network import definitions_of
from training.export.own_file import refuse_other_draws, taken_apart
from training.export.written import call, code
from training.models import make_model
from training.models.user_file import text_of


def describe_model(material: Material, trained: bool = False) -> dict[str, Any]:
    """For the templates: the statements that make the network, and what training it needs to know of it; of one that is
    ``trained``, its weights are to be loaded."""
    config = material.config
    architecture = describe_architecture(material)
    draws, moves = _try_forward(material)
    facts: dict[str, Any] = {
        "model_title": catalog.entry("model", config.model.kind).summary,
        "dropout": draws,
        "buffers": moves or (isinstance(config.model, UserFile) and any(True for _ in material.model.buffers())),
        "whitened": isinstance(config.model, WhitenedCnn),
        "whitened_at_a_time": max(1, LOOKED_AT // torch.Size(material.facts.shape).numel()),
        "channels_last": material.facts.layout == "image" and _channels_last(material),
    }
    if isinstance(config.model, UserFile):
        text = text_of(config.model, material.code_file).text
        refuse_other_draws(text)
        facts["own_imports"], facts["network_code"] = taken_apart(text)
    else:
        facts["network_code"] = definitions_of(material.model).text
    if architecture["builder"] == "torch.nn.Sequential":
        network = call("nn.Sequential", [_layer(layer) for layer in architecture["layers"]], width=0)
        whitens = facts["whitened"] and not trained
        return facts | {"making": [f"return prepare_whitening({network})" if whitens else f"return {network}"]}
    answer = "model"
    if isinstance(config.model, TorchvisionSegmentation):
        (made,) = architecture["parts"]
        taken = [f"model.{name}" for name in made["attributes"]]
        answer = call(architecture["call"], [*taken, *_keywords(architecture["arguments"])])
        architecture = made
    elif architecture["builder"] == "file":
        return facts | {"making": [f"return {_layer(architecture)}"]}
    place = "segmentation." if isinstance(config.model, TorchvisionSegmentation) else ""
    function, first = f"torchvision.models.{place}{architecture['name']}", "weights=None"
    if isinstance(config.model, TimmModel):
        function, first = "timm.create_model", code(architecture["name"])
    network = call(function, [first, *_keywords(architecture["arguments"])])
    replaced = [
        f'model.set_submodule("{layer["name"]}", {_layer(layer)})  # for other channels than three'
        for layer in architecture["replaced"]
    ]
    plain = answer == "model" and not replaced
    return facts | {"making": [f"return {network}"] if plain else [f"model = {network}", *replaced, f"return {answer}"]}


def _keywords(arguments: dict[str, Any]) -> list[str]:
    return [f"{name}={code(value)}" for name, value in arguments.items()]


def _layer(layer: dict[str, Any]) -> str:
    """A layer of ``describe_architecture`` as the call that makes it; what comes in and goes out needs no names."""
    if layer.get("builder") == "torch.nn.Sequential":
        return f"nn.Sequential({', '.join(_layer(part) for part in layer['layers'])})"
    if layer.get("builder") == "file":
        parts = [_layer(part) for part in layer["parts"]]
        return f"{layer['call']}({', '.join(parts + _keywords(layer['arguments']))})"
    plain = [str(value) for name, value in layer["arguments"].items() if name.startswith(("in_", "out_"))]
    named = [f"{name}={value!r}" for name, value in layer["arguments"].items() if not name.startswith(("in_", "out_"))]
    if layer["type"] in ("MaxPool2d", "Dropout"):
        named[0] = named[0].partition("=")[2]
    return f"nn.{layer['type']}({', '.join(plain + named)})"


def _try_forward(material: Material) -> tuple[bool, bool]:
    """Whether the model draws random numbers while training (dropout, stochastic depth), and changes its buffers (batch norm)."""
    config = material.config
    code_file = material.code_file
    model = make_model(config.model, material.facts, material.objective.outputs, config.seed, code_file).train()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        before, buffers = torch.get_rng_state(), [buffer.clone() for buffer in model.buffers()]
        model(material.normalisation.apply(material.samples()[:2]))
        moved = not all(map(torch.equal, buffers, model.buffers()))
        return not torch.equal(before, torch.get_rng_state()), moved


def _channels_last(material: Material) -> bool:
    """As the run had it; checkpoints of earlier versions leave that to their configuration."""
    return bool(material.manifest.get("channels_last", material.config.precision.channels_last != "off"))
