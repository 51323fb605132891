"""torchvision's networks for classification and segmentation, for any number of input channels and classes."""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from training.catalog.network_packages import explain_absence
from training.config.sections.pretrained import TorchvisionModel, TorchvisionSegmentation
from training.errors import InputError
from training.facts import DataFacts
from training.models.meta_forward import forward_meta
from training.models.networks.images import require_images

try:
    import torchvision
except ImportError as missing:
    raise InputError(f"model.kind: {explain_absence('torchvision')}") from missing

_LARGEST_SIDE_TRIED = 1024
_SQUARE_ONLY = ("vit_", "maxvit")
_MAXVIT_SIDE = 224  # five halvings that must each leave a multiple of the 7-pixel partition


def make_torchvision_model(config: TorchvisionModel, facts: DataFacts, outputs: int) -> nn.Module:
    """The network ``config.name`` with fresh weights.

    The first convolution is replaced when the images do not have three channels. Auxiliary classifiers are off, so
    the output is always (n, outputs). Raises InputError when the network is unknown or the size does not suit.
    """
    image = require_images(config.name, facts.shape)
    build = _builder(config.name)
    try:
        model = build(weights=None, num_classes=outputs, **builder_settings(build.__name__, image))
        if image[0] != 3:
            _replace_first_convolution(model, image[0])
    except (AssertionError, ValueError):  # how vision transformers refuse a size
        raise InputError(_advice_on_divisor(config.name, image)) from None
    if config.name.startswith(_SQUARE_ONLY) and not _accepts(model, facts):
        raise InputError(_advice_on_divisor(config.name, image))
    _require_size(config.name, model, facts)
    return model


class SegmentationNetwork(nn.Module):
    """One of torchvision's networks, its ``backbone`` and ``classifier`` under their own names, that answers with a tensor
    instead of a dict: (B, C, H, W) -> logits (B, classes, H, W). Without torchvision's second, auxiliary head."""

    def __init__(self, backbone: nn.Module, classifier: nn.Module, all_levels: bool) -> None:
        """``all_levels``: the classifier takes the backbone's features of each level, not the last alone."""
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.all_levels = all_levels

    def forward(self, images: Tensor) -> Tensor:
        """Logits for each pixel, interpolated bilinearly from the features' coarser grid."""
        features = self.backbone(images)
        coarse: Tensor = self.classifier(features if self.all_levels else features["out"])
        return functional.interpolate(coarse, size=images.shape[-2:], mode="bilinear", align_corners=False)


def make_segmentation_model(config: TorchvisionSegmentation, facts: DataFacts, outputs: int) -> SegmentationNetwork:
    """The network ``config.name`` with fresh weights. Raises InputError when the images are too small."""
    channels, _, _ = require_images(config.name, facts.shape)
    if config.name not in torchvision.models.list_models(module=torchvision.models.segmentation):
        raise InputError(
            f"model.name: torchvision has no segmentation network {config.name!r}; choose lraspp_mobilenet_v3_large."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torchvision's about its own older arguments
        made = torchvision.models.get_model(config.name, weights=None, weights_backbone=None, num_classes=outputs)
    if channels != 3:
        _replace_first_convolution(made, channels)
    model = SegmentationNetwork(made.backbone, made.classifier, config.name.startswith("lraspp"))
    _require_size(config.name, model, facts)
    return model


def _require_size(name: str, model: nn.Module, facts: DataFacts) -> None:
    """Raise InputError, naming the smallest side that works, when ``model`` cannot take such images."""
    if _accepts(model, facts):
        return
    side = _smallest_side(model, facts)
    wanted = "of another size" if side is None else f"of at least {side} x {side} pixels"
    raise InputError(
        f"model.name: {name} needs images {wanted}, but these have {facts.shape[1]} x {facts.shape[2]}; choose another image "
        "size or network."
    )


def _builder(name: str) -> Callable[..., nn.Module]:
    try:
        build = torchvision.models.get_model_builder(name)
    except ValueError:
        raise InputError(
            f"model.name: torchvision has no network {name!r}; choose another, for example resnet18."
        ) from None
    if build.__module__.split(".")[2] in ("detection", "optical_flow", "quantization", "segmentation", "video"):
        raise InputError(
            f"model.name: {name} is not a network for classifying images; choose another, for example resnet18."
        )
    return build


def builder_settings(name: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """Settings that the builder ``name`` needs besides the class count, for images of ``shape``."""
    if name in ("googlenet", "inception_v3"):
        # Auxiliary classifiers would change the output's form; init_weights said outright keeps torchvision from warning.
        return {"aux_logits": False, "init_weights": True}
    if name.startswith("vit_"):
        return {"image_size": shape[1]}
    if name.startswith("maxvit"):
        return {"input_size": (shape[1], shape[1])}
    return {}


def _replace_first_convolution(model: nn.Module, channels: int) -> None:
    """Put a fresh first layer for images of ``channels`` in place of the network's own."""
    name, old = next((name, module) for name, module in model.named_modules() if isinstance(module, nn.Conv2d))
    kept = ("kernel_size", "stride", "padding", "dilation", "groups", "padding_mode")
    settings: dict[str, Any] = {each: getattr(old, each) for each in kept}
    new = nn.Conv2d(channels, old.out_channels, bias=old.bias is not None, **settings)
    model.set_submodule(name, new)


def _accepts(model: nn.Module, facts: DataFacts) -> bool:
    """Whether a forward pass over two such images succeeds.

    In training mode, because batch norm refuses a single value per channel, which is what too small an image leaves,
    only while training.
    """
    try:
        forward_meta(model, facts)
    except Exception:  # noqa: BLE001 - whatever a network of another library raises means: not this size
        return False
    return True


def _advice_on_divisor(name: str, shape: tuple[int, int, int]) -> str:
    unit = int(name.rsplit("_", 1)[1]) if name.startswith("vit_") else _MAXVIT_SIDE
    return (
        f"model.name: {name} needs square images with a side divisible by {unit}, but these have {shape[1]} x {shape[2]}; "
        "choose another image size or network."
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
    return bisect_left(range(side), True, too_small + 1, key=accepts)
