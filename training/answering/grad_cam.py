"""Where in an image a network found what speaks for an answer: Grad-CAM (Selvaraju et al., ICCV 2017), by the last convolution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from training.answering.model import UsableModel
from training.errors import InputError
from training.export.usage.weights import normalize_samples
from training.models.meta_forward import switch_mode
from training.own_code.user_rng import preserve_rng

_CONVOLUTIONS = frozenset((torch.conv2d, torch.conv_transpose2d))
_SOFTMAX = frozenset((functional.softmax, torch.softmax, Tensor.softmax))
_ATTENTION = frozenset((functional.scaled_dot_product_attention, functional.multi_head_attention_forward))
_OF_WINDOWS = 3
"""Sides of the scores of an attention that a network computes by itself; a softmax over classes has fewer."""


class Attention(NamedTuple):
    """``heat`` float64 (H, W), at least 0, of the image's size: how much each place speaks for the score. ``grid`` are the rows and
    columns of the convolution ``layer`` ("" where no module of the network holds its weights)."""

    heat: NDArray[np.float64]
    grid: tuple[int, int]
    layer: str


def look_at_image(model: UsableModel, pixels: NDArray[Any], output: int | None = None) -> tuple[Attention, int]:
    """What in ``pixels`` (C, H, W), as the model takes them, speaks for the class, label or value with the number ``output``, which is
    returned, too; None: for what the model answers. Raises InputError where the model has nothing of the kind to show."""
    network = _require_network(model)
    one_logit = model.record.output.probabilities == "sigmoid" and model.kind == "class"
    chosen = output

    def pick(scores: Tensor) -> Tensor:
        nonlocal chosen
        if one_logit:  # a single score, for the second of two classes
            chosen = int(scores[0, 0] >= 0) if chosen is None else chosen
            return scores[0, 0] if chosen == 1 else -scores[0, 0]
        chosen = int(scores[0].argmax()) if chosen is None else chosen
        return scores[0, chosen]

    if output is not None and not 0 <= output < len(model.record.classes):
        raise InputError(f"The model answers no number {output}; choose one of {len(model.record.classes)}.")
    found = grad_cam(network, normalize_samples(model.facts, torch.from_numpy(pixels[np.newaxis].copy())), pick)
    assert chosen is not None
    return found, chosen


def _require_network(model: UsableModel) -> nn.Module:
    if model.record.input.layout != "image":
        raise InputError("This model takes no images, so there is no place in one that it looks at.")
    if model.kind not in ("class", "labels", "values"):
        raise InputError(
            "Where a network looked is shown for classes, labels and values; this one answers something else."
        )
    if model.network is None:
        raise InputError(
            f"The format {model.record.file.format} keeps no gradients, which tell where the network looked; choose the checkpoint, or an "
            "export as safetensors."
        )
    return model.network


def grad_cam(network: nn.Module, inputs: Tensor, pick: Callable[[Tensor], Tensor]) -> Attention:
    """Of ``inputs`` (1, C, H, W), already normalized, for the score that ``pick`` takes from what the network answers to them.

    With A_k the channels of the last convolution that has more than one place, the map is ReLU(sum of a_k A_k), a_k the mean over all
    places of the score's derivative by A_k; bilinear to the image's size. The network's mode, gradients and random numbers stay as
    they are. Raises InputError where there is no such convolution, or attention comes after it and mixes the places.
    """
    watch = _LastConvolution()
    with torch.enable_grad(), preserve_rng(), switch_mode(network, training=False):
        image = inputs.detach().clone().requires_grad_()  # so that frozen weights make no difference
        with watch:
            scores = network(image.clone())
        channels = watch.found
        if channels is None:
            raise InputError(
                "The network has no convolution whose output has places, so it does not tell where it looked."
            )
        if watch.mixes_after:
            raise InputError(
                "After its last convolution the network mixes all places by attention, so that convolution does not tell where it looked."
            )
        score = pick(scores)
        (slope,) = torch.autograd.grad(score, channels, allow_unused=True) if score.requires_grad else (None,)
    if slope is None:
        raise InputError(
            "The score does not depend on the last convolution by gradients, so it does not tell where the network looked."
        )
    weights = slope.mean((2, 3), keepdim=True)
    coarse = (weights * channels.detach()).sum(1, keepdim=True).relu()
    heat = functional.interpolate(coarse, size=inputs.shape[2:], mode="bilinear", align_corners=False)
    rows, columns = channels.shape[2:]
    return Attention(heat[0, 0].double().numpy(), (rows, columns), watch.name_layer(network))


class _LastConvolution(TorchFunctionMode):
    """Remembers the last convolution with more than one place that is called inside, as a layer or as a function."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Tensor | None = None
        self.mixes_after = False
        self._weight: Tensor | None = None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        if func in _CONVOLUTIONS and output.ndim == 4 and output.shape[2] * output.shape[3] > 1:
            self.found, self.mixes_after = output, False
            self._weight = args[1] if len(args) > 1 else (kwargs or {}).get("weight")
            return output.clone()  # what follows may work in place
        if func in _ATTENTION or (func in _SOFTMAX and output.ndim >= _OF_WINDOWS):
            self.mixes_after = True
        return output

    def name_layer(self, network: nn.Module) -> str:
        """The module that holds the convolution's weights."""
        owners = (name for name, module in network.named_modules() if getattr(module, "weight", None) is self._weight)
        return next(owners, "") if self._weight is not None else ""
