"""What the script of a run says about the known weights that its network begins with."""

from __future__ import annotations

from typing import Any

import torch

from training.config.sections.pretrained import NamedWeights, TimmModel
from training.export.bundle import ExportBundle
from training.export.literals import Setting, code, keywords, prose
from training.export.network_listing import timm_arguments
from training.models import make_model
from training.models.matching import match_weights
from training.models.zoo.pretrained import find_weights
from training.models.zoo.weights import Weights


def describe_beginning(bundle: ExportBundle) -> dict[str, Any]:
    """For the templates. Raises InputError when the weights are not to be had any more: what of them fits the network is
    only known by looking."""
    config = bundle.config.model
    if not (getattr(config, "pretrained", None) or getattr(config, "weights", None)):
        return {"begins": False, "weights_settings": []}
    weights = _weights(bundle)
    model = make_model(config, bundle.facts, bundle.objective.outputs, bundle.config.seed, bundle.code_file)
    taken = match_weights(model, weights, _is_headless(bundle, weights))
    known = _known(bundle, weights)
    if taken.rename is not str:
        known = f"{{{taken.rename.__name__}(name): tensor for name, tensor in {known}.items()}}"
    file: list[Setting] = [("", "WEIGHTS", code(str(weights.file)))]
    fresh = ("What known weights are not taken for.", "FRESH", list(taken.fresh))
    return {
        "begins": True,
        "weights_title": prose(weights.name),
        "weights_settings": [*([] if getattr(config, "pretrained", None) else file), fresh],
        "known": known,
        "adapt": ", ".join(f"{code(name)}: {function.__name__}" for name, function in taken.adapted.items()),
    }


def begun_alike(bundle: ExportBundle, script: dict[str, Any], model: torch.nn.Module, ours: torch.nn.Module) -> bool:
    """Whether the script's network takes over the same weights; both are changed."""
    if "known_weights" not in script:
        return True
    weights = _weights(bundle)
    adapted = match_weights(ours, weights, _is_headless(bundle, weights)).adapted
    tensors = weights.tensors if isinstance(bundle.config.model, TimmModel) else script["known_weights"]()
    adapt = {name: script[function.__name__] for name, function in adapted.items()}
    script["load_matching"](model, tensors, script["FRESH"], adapt)
    found = model.state_dict()
    return all(torch.equal(tensor, found[name]) for name, tensor in ours.state_dict().items())


def _weights(bundle: ExportBundle) -> Weights:
    config, outputs = bundle.config.model, bundle.objective.outputs
    weights = find_weights(config, bundle.facts, outputs, lambda what, share: None)
    assert weights is not None, "the configuration asks for them"
    return weights


def _is_headless(bundle: ExportBundle, weights: Weights) -> bool:
    return weights.classes is not None and weights.classes != bundle.facts.names


def _known(bundle: ExportBundle, weights: Weights) -> str:
    """The call that gives the weights by name."""
    config = bundle.config.model
    if isinstance(config, TimmModel) and (config.pretrained or not weights.mean or weights.classes is None):
        name = weights.name if config.pretrained else config.name
        file = [] if config.pretrained else ['pretrained_cfg_overlay={"file": WEIGHTS}']
        arguments = [code(name), "pretrained=True", *file, *keywords(timm_arguments(bundle))]
        return f"timm.create_model({', '.join(arguments)}).state_dict()"
    if isinstance(config, NamedWeights) and config.pretrained:
        network, _, name = weights.name.rpartition(" ")
        return f'torchvision.models.get_model_weights("{network}")["{name}"].get_state_dict(check_hash=True)'
    if weights.file.suffix == ".safetensors":
        return "load_file(WEIGHTS)"
    return 'unwrap(torch.load(WEIGHTS, map_location="cpu", weights_only=True))'
