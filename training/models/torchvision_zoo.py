"""torchvision's classification networks, for any number of input channels and classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torchvision
from torch import nn

from training.config.zoo import TorchvisionModel
from training.errors import InputError
from training.facts import DataFacts
from training.models.hollow import forward_hollow
from training.models.pictures import require_pictures

_LARGEST_SIDE_TRIED = 1024
_SQUARE_ONLY = ("vit_", "maxvit")
_MAXVIT_SIDE = 224  # five halvings that must each leave a multiple of the 7-pixel partition


def make_torchvision_model(config: TorchvisionModel, facts: DataFacts, outputs: int) -> nn.Module:
    """The network ``config.name`` with fresh weights.

    The first convolution is replaced when the pictures do not have three channels. Auxiliary classifiers are off, so
    the output is always (n, outputs). Raises InputError when the network is unknown or the size does not suit.
    """
    picture = require_pictures(config.name, facts.shape)
    build = _builder(config.name)
    try:
        model = _assemble(build, picture, outputs)
    except (AssertionError, ValueError):  # how vision transformers refuse a size
        raise InputError(_advice_on_divisor(config.name, picture)) from None
    if config.name.startswith(_SQUARE_ONLY) and not _accepts(model, facts):
        raise InputError(_advice_on_divisor(config.name, picture))
    require_size(config.name, model, facts)
    return model


def require_size(name: str, model: nn.Module, facts: DataFacts) -> None:
    """Raise InputError, naming the smallest side that works, when ``model`` cannot take such pictures."""
    if not _accepts(model, facts):
        raise InputError(_advice_on_size(name, model, facts))


def _builder(name: str) -> Callable[..., nn.Module]:
    try:
        build = torchvision.models.get_model_builder(name)
    except ValueError:
        raise InputError(
            f"model.name: torchvision has no network {name!r}; choose another, for example resnet18."
        ) from None
    if build.__module__.removeprefix("torchvision.models.").partition(".")[0] in (
        "detection",
        "optical_flow",
        "quantization",
        "segmentation",
        "video",
    ):
        raise InputError(
            f"model.name: {name} is not a network for classifying pictures; choose another, for example resnet18."
        )
    return build


def _assemble(build: Callable[..., nn.Module], shape: tuple[int, int, int], outputs: int) -> nn.Module:
    model = build(weights=None, num_classes=outputs, **builder_settings(build.__name__, shape))
    if shape[0] != 3:
        replace_first_convolution(model, shape[0])
    return model


def builder_settings(name: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """Settings that the builder ``name`` needs besides the class count, for pictures of ``shape``."""
    if name in ("googlenet", "inception_v3"):
        # Auxiliary classifiers would change the output's form; init_weights said outright keeps torchvision from warning.
        return {"aux_logits": False, "init_weights": True}
    if name.startswith("vit_"):
        return {"image_size": shape[1]}
    if name.startswith("maxvit"):
        return {"input_size": (shape[1], shape[1])}
    return {}


def replace_first_convolution(model: nn.Module, channels: int) -> None:
    """Put a fresh first layer for pictures of ``channels`` in place of the network's own."""
    name, old = next((name, module) for name, module in model.named_modules() if isinstance(module, nn.Conv2d))
    new = nn.Conv2d(
        channels,
        old.out_channels,
        old.kernel_size,  # type: ignore[arg-type]
        stride=old.stride,  # type: ignore[arg-type]
        padding=old.padding,  # type: ignore[arg-type]
        dilation=old.dilation,  # type: ignore[arg-type]
        groups=old.groups,
        bias=old.bias is not None,
        padding_mode=old.padding_mode,
    )
    model.set_submodule(name, new)


def _accepts(model: nn.Module, facts: DataFacts) -> bool:
    """Whether a forward pass over two such pictures succeeds.

    In training mode, because batch norm refuses a single value per channel, which is what too small a picture leaves,
    only while training.
    """
    try:
        forward_hollow(model, facts)
    except Exception:  # noqa: BLE001 - whatever a network of another library raises means: not this size
        return False
    return True


def _advice_on_divisor(name: str, shape: tuple[int, int, int]) -> str:
    unit = int(name.rsplit("_", 1)[1]) if name.startswith("vit_") else _MAXVIT_SIDE
    return (
        f"model.name: {name} needs square pictures with a side divisible by {unit}, but these have {shape[1]} x {shape[2]}; "
        "choose another image size or network."
    )


def _advice_on_size(name: str, model: nn.Module, facts: DataFacts) -> str:
    shape = facts.shape
    side = _smallest_side(model, facts)
    wanted = "of another size" if side is None else f"of at least {side} x {side} pixels"
    return (
        f"model.name: {name} needs pictures {wanted}, but these have {shape[1]} x {shape[2]}; choose another image size or "
        "network."
    )


def _smallest_side(model: nn.Module, facts: DataFacts) -> int | None:
    """The smallest square above the given one that works, by bisection: what suits a convolutional network suits it larger."""
    too_small = min(facts.shape[1:])
    side = max(2 * too_small, 8)

    def accepts(side: int) -> bool:
        return _accepts(model, replace(facts, shape=(facts.shape[0], side, side)))

    while not accepts(side):
        too_small, side = side, 2 * side
        if side > _LARGEST_SIDE_TRIED:
            return None
    while side - too_small > 1:
        middle = (too_small + side) // 2
        if accepts(middle):
            side = middle
        else:
            too_small = middle
    return side
