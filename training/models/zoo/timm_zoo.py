"""timm's networks, for any number of input channels and classes. timm is an extra: nothing else needs this module."""

from __future__ import annotations

import difflib
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from torch import nn

from training.catalog.network_packages import explain_absence
from training.config.sections.pretrained import TimmModel
from training.downloads import ReportProgress
from training.errors import InputError
from training.facts import DataFacts
from training.models.meta_forward import forward_meta
from training.models.networks.images import require_images
from training.models.zoo.download import find_published
from training.models.zoo.weights import Weights, read_weights
from training.runs.records.manifest import digest
from training.system.untrusted import escape_unprintable

try:
    import timm
except ImportError as missing:
    raise InputError(f"model.kind: {explain_absence('timm')}") from missing


def make_timm_model(config: TimmModel, facts: DataFacts, outputs: int) -> nn.Module:
    """The network ``config.name`` with fresh weights. Raises InputError when timm does not know it or it cannot take such
    images."""
    require_images(config.name, facts.shape)
    _require_known(config.name)
    model = _create(config, facts, outputs)
    try:
        answer = forward_meta(model, facts)
    except Exception as error:
        why = f" ({escape_unprintable(str(error), 120)})" if str(error) else ""  # a bare assertion says nothing
        cfg: Any = timm.get_pretrained_cfg(config.name)
        made_for = cfg.input_size[-1] if cfg is not None else 224
        raise InputError(
            f"model.name: {config.name} cannot take images of {facts.shape[1]} x {facts.shape[2]}{why}; choose the image size "
            f"{made_for}, which it was made for, or another network."
        ) from error
    if getattr(answer, "shape", None) != (2, outputs):
        raise InputError(f"model.name: {config.name} is not a network for classifying images; choose resnet18.")
    return model


def find_timm_weights(config: TimmModel, facts: DataFacts, outputs: int, report: ReportProgress) -> Weights:
    """The weights ``config`` asks for, in the form that fits the network: timm itself adapts the first layer and positions.

    Raises InputError when they are not to be had.
    """
    _require_known(config.name)
    if config.weights:
        weights = read_weights(config.weights)
        if weights.mean:  # one of our runs
            return weights
        what, path = weights.name, weights.file
        cfg: Any = timm.get_pretrained_cfg(config.name)
    else:
        what, path, cfg = _choose_published(config, report)
    try:
        model = _create(config, facts, outputs, pretrained=True, pretrained_cfg_overlay={"file": str(path)})
    except Exception as error:  # whatever timm makes of a file that is not its own
        raise InputError(
            f"model.weights: {escape_unprintable(what)} does not fit {config.name} ({escape_unprintable(str(error), 120)}); choose the network it "
            "was made for."
        ) from error
    tensors = model.state_dict()
    if outputs != getattr(cfg, "num_classes", None):
        heads = [cfg.classifier] if isinstance(cfg.classifier, str) else list(cfg.classifier or ())
        fresh = tuple(f"{head}." for head in heads)  # timm's own, drawn by chance
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith(fresh)}
    return Weights(what, path, digest(path), tensors, tuple(cfg.mean), tuple(cfg.std))


def _require_known(name: str) -> None:
    if not timm.is_model(name.partition(".")[0]):
        near = difflib.get_close_matches(name, timm.list_models(), n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else "choose another, for example resnet18."
        raise InputError(f"model.name: timm has no network {escape_unprintable(repr(name), 60)}; {hint}")


def _create(config: TimmModel, facts: DataFacts, outputs: int, **more: Any) -> nn.Module:
    """By timm, with the images' size where a network wants to be told it."""
    channels, height, width = facts.shape
    settings: dict[str, Any] = {"num_classes": outputs, "in_chans": channels, **more}
    if config.drop_path_rate:
        settings["drop_path_rate"] = config.drop_path_rate
    try:
        try:
            made = timm.create_model(config.name, img_size=(height, width), **settings)
        except TypeError as error:
            if "img_size" not in str(error):
                raise
            made = timm.create_model(config.name, **settings)
    except TypeError as error:
        if "drop_path_rate" not in str(error):
            raise
        raise InputError(
            f"model.drop_path_rate: {config.name} has no residual branches to drop; set it to 0."
        ) from error
    except (AssertionError, ValueError, RuntimeError) as error:
        if more:
            raise
        raise InputError(
            f"model.name: {config.name} cannot be built for images of {height} x {width} ({escape_unprintable(str(error), 120)}); choose "
            "another image size, often 224, or another network."
        ) from error
    model: nn.Module = made
    return model


def _choose_published(config: TimmModel, report: ReportProgress) -> tuple[str, Path, Any]:
    """Name, file and timm's description of published weights: from Hugging Face's own cache, ours, or the network."""
    name = config.name if config.pretrained == "DEFAULT" else f"{config.name.partition('.')[0]}.{config.pretrained}"
    cfg: Any = timm.get_pretrained_cfg(name, allow_unregistered=False) if timm.is_model_pretrained(name) else None
    if cfg is None or not (cfg.hf_hub_id or cfg.url):
        tags = [each.partition(".")[2] for each in timm.list_pretrained(f"{config.name.partition('.')[0]}.*")]
        listed = ", ".join(["DEFAULT", *tags[:8]]) if tags else "none"
        raise InputError(
            f"model.pretrained: timm has no weights {escape_unprintable(name, 80)}; known for this network: {listed}."
        )
    if cfg.hf_hub_id:
        from huggingface_hub import try_to_load_from_cache  # comes with timm

        hub = cfg.hf_hub_id
        file = cfg.hf_hub_filename or "model.safetensors"
        cached = try_to_load_from_cache(hub, file)
        if isinstance(cached, str):
            return name, Path(cached), cfg
        url = f"https://huggingface.co/{hub}/resolve/main/{file}"
        return name, find_published(url, f"{hub.replace('/', '--')}--{file}", f"timm's {name}", report), cfg
    return name, find_published(cfg.url, PurePosixPath(urlsplit(cfg.url).path).name, f"timm's {name}", report), cfg
