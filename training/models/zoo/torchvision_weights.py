"""The weights that torchvision publishes for its networks, by their names."""

from __future__ import annotations

import difflib
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from torchvision.models import WeightsEnum, get_model_weights

from training.downloads import ReportProgress
from training.errors import InputError
from training.models.zoo.download import find_published
from training.models.zoo.weights import IMAGENET, Weights, read_tensors
from training.runs.records.manifest import digest
from training.system.untrusted import escape_unprintable

_SCALED = ("googlenet", "inception_v3")
"""Their published weights want (pixel - 0.5) / 0.5, which torchvision makes of ImageNet's normalization inside the network."""

_BACKBONES = {
    "deeplabv3_mobilenet_v3_large": "mobilenet_v3_large",
    "deeplabv3_resnet101": "resnet101",
    "deeplabv3_resnet50": "resnet50",
    "fcn_resnet101": "resnet101",
    "fcn_resnet50": "resnet50",
    "lraspp_mobilenet_v3_large": "mobilenet_v3_large",
}


def find_named_weights(network: str, name: str, report: ReportProgress) -> Weights:
    """The weights ``name`` of ``network``, downloaded where they are not on this computer yet. Raises InputError."""
    backbone = name == "BACKBONE" and network in _BACKBONES
    owner = _BACKBONES[network] if backbone else network
    # The body of a segmentation network was trained from the classifier's first version.
    chosen = _choose(owner, "IMAGENET1K_V1" if backbone else name)
    what = f"{owner} {chosen.name}"
    path = find_published(chosen.url, PurePosixPath(urlsplit(chosen.url).path).name, what, report)
    mean, std = ((0.5,) * 3, (0.5,) * 3) if network in _SCALED else IMAGENET
    return Weights(what, path, digest(path), read_tensors(path), mean, std)


def _choose(network: str, name: str) -> WeightsEnum:
    known = {each.name: each for each in get_model_weights(network)}
    if not known:
        raise InputError(f"model.pretrained: torchvision has no weights for {network}; empty this setting.")
    if name == "DEFAULT":
        chosen: WeightsEnum = get_model_weights(network).DEFAULT
        return chosen
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(['DEFAULT', *known])}."
        raise InputError(f"model.pretrained: {network} has no weights {escape_unprintable(repr(name), 60)}; {hint}")
    return known[name]
