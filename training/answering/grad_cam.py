"""Where in an image a network found what speaks for an answer: Grad-CAM (Selvaraju et al., ICCV 2017), by the last convolution or, of
vision transformers, by the tokens of the last attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from training.answering.model import UsableModel
from training.errors import InputError
from training.export.usage.facts import TaskOutput
from training.export.usage.weights import normalize_samples
from training.models.meta_forward import switch_mode
from training.own_code.user_rng import preserve_rng

_CONVOLUTIONS = frozenset((torch.conv2d, torch.conv_transpose2d))
_JOINS = frozenset((torch.cat, torch.concat, torch.concatenate))
_SOFTMAX = frozenset((functional.softmax, torch.softmax, Tensor.softmax))
_ATTENTION = frozenset((functional.scaled_dot_product_attention, functional.multi_head_attention_forward))
_OF_WINDOWS = 3
"""Sides of the scores of an attention that a network computes by itself; a softmax over classes has fewer."""
_MOST_BEFORE = 8
"""Tokens of no place: one for the class, one of a teacher, up to four registers are common."""


class Attention(NamedTuple):
    """``heat`` float64 (H, W), at least 0, of the image's size: how much each place speaks for the score. ``grid`` are the rows and
    columns of what tells it: of the convolution ``layer`` ("" where no module of the network holds its weights), or of the last attention."""

    heat: NDArray[np.float64]
    grid: tuple[int, int]
    layer: str
    kind: Literal["convolution", "attention"] = "convolution"


Choose = Callable[[Tensor, int | None], tuple[Tensor, int]]
"""From what a network answers to one image, and the number that is asked about (None: what it answers), a score and its number."""


def look_at_image(model: UsableModel, pixels: NDArray[Any], output: int | None = None) -> tuple[Attention, int]:
    """What in ``pixels`` (C, H, W), as the model takes them, speaks for the class, label, value or target with the number ``output``,
    which is returned, too; None: for what the model answers (of masks the class of most pixels, of several targets the first one).
    Raises InputError where the model has nothing of the kind to show."""
    network, choose = _require_network(model), _find_choice(model)
    count = len(model.outputs)
    if output is not None and not 0 <= output < count:
        raise InputError(f"The model answers no number {output}; choose one of {count}.")
    chosen = -1

    def pick(scores: Tensor) -> Tensor:
        nonlocal chosen
        score, chosen = choose(scores, output)
        return score

    inputs = normalize_samples(model.facts, torch.from_numpy(pixels[np.newaxis].copy()))
    return grad_cam(network, inputs, pick, deepest=model.kind == "mask"), chosen


def _find_choice(model: UsableModel) -> Choose:
    if model.kind == "mask":
        return choose_class_of_pixels
    if model.kind == "tasks":
        return partial(choose_target, model.facts["output"]["tasks"])
    if model.kind == "class" and model.record.output.probabilities == "sigmoid":
        return _choose_of_two
    return _choose_number


def _choose_number(scores: Tensor, output: int | None) -> tuple[Tensor, int]:
    number = int(scores[0].argmax()) if output is None else output
    return scores[0, number], number


def _choose_of_two(scores: Tensor, output: int | None) -> tuple[Tensor, int]:
    """A single score, for the second of two classes."""
    number = int(scores[0, 0] >= 0) if output is None else output
    return scores[0, 0] if number == 1 else -scores[0, 0], number


def choose_class_of_pixels(scores: Tensor, output: int | None) -> tuple[Tensor, int]:
    """Of masks (1, classes, H, W): the scores of a class, summed over the pixels that are taken for it, over all where none is
    (Vinogradova et al., AAAI 2020)."""
    answers = scores[0].argmax(0)
    number = int(answers.flatten().bincount().argmax()) if output is None else output
    here = answers == number
    return (scores[0, number][here] if here.any() else scores[0, number]).sum(), number


def choose_target(tasks: Sequence[TaskOutput], scores: Tensor, output: int | None) -> tuple[Tensor, int]:
    """Of several targets: the score of the class that one of them is taken to be, or its value."""
    number = output or 0
    task = tasks[number]
    own = scores[0, task["first"] : task["last"]]
    if len(task["classes"]) == 2:  # one logit, for the second
        return own[0].abs(), number
    return own.max(), number


def _require_network(model: UsableModel) -> nn.Module:
    if model.record.input.layout != "image":
        raise InputError("This model takes no images, so there is no place in one that it looks at.")
    if model.kind not in ("class", "labels", "values", "mask", "tasks"):
        raise InputError(
            "Where a network looked is shown for classes, labels, values and masks; this one answers something else."
        )
    if model.network is None:
        raise InputError(
            f"The format {model.record.file.format} keeps no gradients, which tell where the network looked; choose the checkpoint, or an "
            "export as safetensors."
        )
    return model.network


def grad_cam(
    network: nn.Module, inputs: Tensor, pick: Callable[[Tensor], Tensor], *, deepest: bool = False
) -> Attention:
    """Of ``inputs`` (1, C, H, W), already normalized, for the score that ``pick`` takes from what the network answers to them.

    With A_k the channels of the last convolution that has more than one place (of the branches that are joined after it, of all of
    them), the map is ReLU(sum of a_k A_k), a_k the mean over all places of the score's derivative by A_k; bilinear to the image's size.
    ``deepest``: of the last one with the fewest places, where a network that answers for each pixel has the bottom of its U. Where attention mixes the places afterwards, A are the values that
    the last attention mixes, one token for each place of the convolution. The network's mode, gradients and random numbers stay as
    they are. Raises InputError where there is no such convolution, or what comes after it mixes the places otherwise.
    """
    watch = _Layers(deepest)
    with torch.enable_grad(), preserve_rng(), switch_mode(network, training=False):
        image = inputs.detach().clone().requires_grad_()  # so that frozen weights make no difference
        with watch:
            scores = network(image.clone())
        channels = watch.found
        if channels is None:
            raise InputError(
                "The network has no convolution whose output has places, so it does not tell where it looked."
            )
        grid = channels.shape[2], channels.shape[3]
        mixed = watch.values if watch.mixes_after else channels
        if mixed is None or (watch.mixes_after and _spread_tokens(mixed, grid) is None):
            raise InputError(
                "After its last convolution the network mixes all places by attention, so that convolution does not tell where it looked."
            )
        score = pick(scores)
        (slope,) = torch.autograd.grad(score, mixed, allow_unused=True) if score.requires_grad else (None,)
    if slope is None:
        raise InputError(
            "The score does not depend on the last convolution by gradients, so it does not tell where the network looked."
        )
    held = mixed.detach()
    if watch.mixes_after:
        held, slope = (_require(_spread_tokens(each, grid)) for each in (held, slope))
    coarse = (slope.mean((2, 3), keepdim=True) * held).sum(1, keepdim=True).relu()
    heat = functional.interpolate(coarse, size=inputs.shape[2:], mode="bilinear", align_corners=False)
    layer = "" if watch.mixes_after else watch.name_layer(network)
    return Attention(heat[0, 0].double().numpy(), grid, layer, "attention" if watch.mixes_after else "convolution")


def _spread_tokens(values: Tensor, grid: tuple[int, int]) -> Tensor | None:
    """What attention mixes, (1, heads, tokens, size) or, by torch's own layer, (tokens, 1, size), as (1, channels, rows, columns); None where
    there is no token for each place. Tokens of no place (of the class, registers) come first."""
    tokens = values.transpose(1, 2).flatten(2) if values.ndim == 4 else values.transpose(0, 1)
    before = tokens.shape[1] - grid[0] * grid[1]
    if len(tokens) != 1 or not 0 <= before <= _MOST_BEFORE:
        return None
    return tokens[:, before:].transpose(1, 2).unflatten(2, grid)


def _require(found: Tensor | None) -> Tensor:
    assert found is not None
    return found


class _Layers(TorchFunctionMode):
    """Remembers the last convolution with more than one place that is called inside, as a layer or as a function (``deepest``: the last of
    those with the fewest places), and what the last attention behind it mixes."""

    def __init__(self, deepest: bool) -> None:
        super().__init__()
        self.found: Tensor | None = None
        self.values: Tensor | None = None
        self.mixes_after = False
        self._deepest = deepest
        self._weight: Tensor | None = None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        if func in _CONVOLUTIONS and output.ndim == 4 and self._is_wanted(output):
            self.found, self.values, self.mixes_after = output, None, False
            self._weight = args[1] if len(args) > 1 else (kwargs or {}).get("weight")
            return output.clone()  # what follows may work in place
        if func in _JOINS and self._joins_found(output):  # branches of an Inception block, layers of a dense one
            self.found, self._weight = output, None
            return output.clone()
        if func in _ATTENTION or (func in _SOFTMAX and output.ndim >= _OF_WINDOWS):
            self.mixes_after = True
            self.values = (args[2] if len(args) > 2 else (kwargs or {}).get("value")) if func in _ATTENTION else None
        return output

    def _is_wanted(self, output: Tensor) -> bool:
        places = output.shape[2:].numel()
        most = self.found.shape[2:].numel() if self._deepest and self.found is not None else places
        return 1 < places <= most

    def _joins_found(self, output: Tensor) -> bool:
        found = self.found if not self.mixes_after else None
        return found is not None and output.ndim == found.ndim and output.shape[2:] == found.shape[2:]

    def name_layer(self, network: nn.Module) -> str:
        """The module that holds the convolution's weights."""
        owners = (name for name, module in network.named_modules() if getattr(module, "weight", None) is self._weight)
        return next(owners, "") if self._weight is not None else ""
