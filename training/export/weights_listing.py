"""What the script of a run says about the known weights that its network begins with."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from training.config.zoo import NamedWeights, TimmModel
from training.export.architecture import describe_architecture
from training.export.material import Material
from training.export.written import Setting, code, prose
from training.models import make_model
from training.models.pretrained import find_weights
from training.models.taking import RENAMES, adapt_channels, interpolate_positions, renamed, take
from training.models.weights import BEFORE, INSIDE, Weights

_RENAMED = (
    "",
    r're.sub(r"^(.*denselayer\d+\.(?:norm|relu|conv))\.([12]\.\w+)$", r"\1\2", name)',
    'f"backbone.{name}"',
    r're.sub(r"^features\.", "backbone.", name)',
    r're.sub(r"^(model|network|backbone|encoder)\.", "", name)',
)
"""``RENAMES`` as the script writes them."""


def describe_beginning(material: Material) -> dict[str, Any]:
    """For the templates. Raises InputError when the weights are not to be had any more: what of them fits the network is
    only known by looking."""
    config, facts = material.config.model, material.facts
    if not (getattr(config, "pretrained", None) or getattr(config, "weights", None)):
        return {"begins": False}
    weights = _weights(material)
    model = make_model(config, facts, material.objective.outputs, material.config.seed, material.code_file)
    own = model.state_dict()
    taken = take(model, weights, _is_headless(material, weights))
    names = renamed(weights.tensors, own)
    way = next(number for number, each in enumerate(RENAMES) if {each(name) for name in weights.tensors} == set(names))
    positions = [name for name in taken.adapted if name.endswith("pos_embedding")]
    filters = [name for name in taken.adapted if name not in positions]
    functions = [adapt_channels] * bool(filters) + [interpolate_positions] * bool(positions)
    return {
        "begins": True,
        "weights_title": prose(weights.name),
        "weights_file": None if getattr(config, "pretrained", None) else str(weights.file),
        "known": _known(material, weights),
        "inside": _wrapping(weights),
        "rename": _RENAMED[way],
        "filters": [code(name) for name in filters],
        "positions": [code(name) for name in positions],
        "adapting": "\n\n\n".join(inspect.getsource(function).rstrip() for function in functions),
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
    if "begin" not in script:
        return True
    weights = _weights(material)
    take(ours, weights, _is_headless(material, weights))
    script["begin"](
        model, weights.tensors if isinstance(material.config.model, TimmModel) else script["known_weights"]()
    )
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
    return 'torch.load(WEIGHTS, map_location="cpu", weights_only=True)'


def _is_run(weights: Weights) -> bool:
    return weights.classes is not None


def _wrapping(weights: Weights) -> list[str]:
    """Lines that take ``tensors`` out of what a file wraps them in."""
    if weights.file.suffix == ".safetensors":
        return []
    state: Any = torch.load(weights.file, map_location="cpu", weights_only=True)
    lines = []
    for name in INSIDE:
        if isinstance(state, Mapping) and isinstance(state.get(name), Mapping):
            state = state[name]
            lines.append(f'tensors = tensors["{name}"]')
    names = [name for name, value in state.items() if isinstance(value, Tensor)]
    for start in BEFORE:
        if all(name.startswith(start) for name in names):
            names = [name.removeprefix(start) for name in names]
            lines.append(f'tensors = {{name.removeprefix("{start}"): tensor for name, tensor in tensors.items()}}')
    return lines
