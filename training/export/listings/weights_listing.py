"""What the script of a run says about the known weights that its network begins with."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import torch
from torch import nn

from training.config.sections.pretrained import NamedWeights, TimmModel
from training.export.bundle import ExportBundle
from training.export.network_listing import timm_arguments
from training.models import make_model
from training.models.matching import match_weights
from training.models.zoo.pretrained import find_weights
from training.models.zoo.weights import Weights
from training.tutorial.literals import Setting, code, keywords, prose


@dataclass(frozen=True)
class KnownWeights:
    """The call that gives the weights by name, and what makes some of them fit."""

    title: str
    known: str
    adapt: str
    settings: list[Setting]


def describe_weights(bundle: ExportBundle) -> KnownWeights | None:
    """For the templates; None for fresh weights. Raises InputError when the weights are not to be had any more: what of them
    fits the network is only known by looking."""
    config = bundle.config.model
    published = bool(getattr(config, "pretrained", None))
    if not (published or getattr(config, "weights", None)):
        return None
    weights = _find(bundle)
    model = make_model(config, bundle.facts, bundle.objective.outputs, bundle.config.seed, bundle.code_file)
    taken = match_weights(model, weights, _is_headless(bundle, weights))
    known = _write_loading(bundle, weights)
    if taken.rename is not str:
        known = f"{{{taken.rename.__name__}(name): tensor for name, tensor in {known}.items()}}"
    adapt = ", ".join(f"{code(name)}: {function.__name__}" for name, function in taken.adapted.items())
    settings = [Setting("What known weights are not taken for.", "FRESH", list(taken.fresh))]
    if not published:
        settings.insert(0, Setting("", "WEIGHTS", code(str(weights.file))))
    return KnownWeights(prose(weights.name), known, adapt, settings)


def has_same_beginning(bundle: ExportBundle, script: ModuleType, model: nn.Module, ours: nn.Module) -> bool:
    """Whether the script's network takes over the same weights; both are changed."""
    if not hasattr(script, "known_weights"):
        return True
    weights = _find(bundle)
    adapted = match_weights(ours, weights, _is_headless(bundle, weights)).adapted
    tensors = weights.tensors if isinstance(bundle.config.model, TimmModel) else script.known_weights()
    adapt = {name: getattr(script, function.__name__) for name, function in adapted.items()}
    script.load_matching(model, tensors, script.FRESH, adapt)
    return has_same_state(model, ours)


def has_same_state(model: nn.Module, ours: nn.Module) -> bool:
    """Whether all tensors of both are equal to the bit, by name."""
    one, other = model.state_dict(), ours.state_dict()
    return one.keys() == other.keys() and all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def _find(bundle: ExportBundle) -> Weights:
    config, outputs = bundle.config.model, bundle.objective.outputs
    weights = find_weights(config, bundle.facts, outputs, lambda what, share: None)
    assert weights is not None, "the configuration asks for them"
    return weights


def _is_headless(bundle: ExportBundle, weights: Weights) -> bool:
    return weights.classes is not None and weights.classes != bundle.facts.names


def _write_loading(bundle: ExportBundle, weights: Weights) -> str:
    """The call that gives the weights by name."""
    config = bundle.config.model
    if isinstance(config, TimmModel) and (config.pretrained or not weights.mean or weights.classes is None):
        name = weights.name if config.pretrained else config.name
        file = [] if config.pretrained else ['pretrained_cfg_overlay={"file": WEIGHTS}']
        arguments = [code(name), "pretrained=True", *file, *keywords(**timm_arguments(bundle))]
        return f"timm.create_model({', '.join(arguments)}).state_dict()"
    if isinstance(config, NamedWeights) and config.pretrained:
        network, _, name = weights.name.rpartition(" ")
        return f'torchvision.models.get_model_weights("{network}")["{name}"].get_state_dict(check_hash=True)'
    if weights.file.suffix == ".safetensors":
        return "load_file(WEIGHTS)"
    return 'unwrap(torch.load(WEIGHTS, map_location="cpu", weights_only=True))'
