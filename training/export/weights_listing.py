"""What the script of a run says about the known weights that its network begins with."""

from __future__ import annotations

from typing import Any

import torch

from training.config.zoo import NamedWeights, TimmModel
from training.export.architecture import describe_architecture
from training.export.material import Material
from training.export.written import Setting, code, prose
from training.models import make_model
from training.models.pretrained import find_weights
from training.models.taking import take
from training.models.weights import Weights


def describe_beginning(material: Material) -> dict[str, Any]:
    """For the templates. Raises InputError when the weights are not to be had any more: what of them fits the network is
    only known by looking."""
    config = material.config.model
    if not (getattr(config, "pretrained", None) or getattr(config, "weights", None)):
        return {"begins": False}
    weights = _weights(material)
    model = make_model(config, material.facts, material.objective.outputs, material.config.seed, material.code_file)
    taken = take(model, weights, _is_headless(material, weights))
    known = _known(material, weights)
    if taken.rename is not str:
        known = f"{{{taken.rename.__name__}(name): tensor for name, tensor in {known}.items()}}"
    return {
        "begins": True,
        "weights_title": prose(weights.name),
        "weights_file": None if getattr(config, "pretrained", None) else str(weights.file),
        "known": known,
        "adapt": ", ".join(f"{code(name)}: {function.__name__}" for name, function in taken.adapted.items()),
        "fresh": tuple(taken.fresh),
    }


def beginning_settings(facts: dict[str, Any]) -> list[Setting]:
    """What the templates name in capitals."""
    if not facts["begins"]:
        return []
    settings: list[Setting] = [("", "WEIGHTS", code(facts["weights_file"]))] * bool(facts["weights_file"])
    return [*settings, ("What known weights are not taken for.", "FRESH", list(facts["fresh"]))]


def begun_alike(material: Material, script: dict[str, Any], model: torch.nn.Module, ours: torch.nn.Module) -> bool:
    """Whether the script's network takes over the same weights; both are changed."""
    if "known_weights" not in script:
        return True
    weights = _weights(material)
    adapted = take(ours, weights, _is_headless(material, weights)).adapted
    tensors = weights.tensors if isinstance(material.config.model, TimmModel) else script["known_weights"]()
    adapt = {name: script[function.__name__] for name, function in adapted.items()}
    script["load_matching"](model, tensors, script["FRESH"], adapt)
    found = model.state_dict()
    return all(torch.equal(tensor, found[name]) for name, tensor in ours.state_dict().items())


def _weights(material: Material) -> Weights:
    config, outputs = material.config.model, material.objective.outputs
    weights = find_weights(config, material.facts, outputs, lambda what, share: None)
    assert weights is not None, "the configuration asks for them"
    return weights


def _is_headless(material: Material, weights: Weights) -> bool:
    return weights.classes is not None and weights.classes != material.facts.names


def _known(material: Material, weights: Weights) -> str:
    """The call that gives the weights by name."""
    config = material.config.model
    if isinstance(config, TimmModel) and (config.pretrained or not weights.mean or not _is_run(weights)):
        arguments = describe_architecture(material)["arguments"]
        name = weights.name if config.pretrained else config.name
        settings = "".join(f", {key}={code(value)}" for key, value in arguments.items())
        file = "" if config.pretrained else ', pretrained_cfg_overlay={"file": WEIGHTS}'
        return f"timm.create_model({code(name)}, pretrained=True{file}{settings}).state_dict()"
    if isinstance(config, NamedWeights) and config.pretrained:
        network, _, name = weights.name.rpartition(" ")
        return f'torchvision.models.get_model_weights("{network}")["{name}"].get_state_dict(check_hash=True)'
    if weights.file.suffix == ".safetensors":
        return "load_file(WEIGHTS)"
    return 'unwrap(torch.load(WEIGHTS, map_location="cpu", weights_only=True))'


def _is_run(weights: Weights) -> bool:
    return weights.classes is not None
