"""What is drawn for the samples of a batch, on the CPU whatever device the images are on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from training.core.counter_rng import uniform

VALUES_AT_ONCE = 1 << 20
"""Numbers of an image that the CPU changes at a time: 4 MB as float32."""


class Draws(NamedTuple):
    """Numbers drawn for a batch's samples, each a function of (seed, stream, epoch, sample) alone.

    ``indices`` are the samples' int64 numbers (B,) on the CPU: what is drawn from them says which samples an operation
    takes, and a GPU would have to be waited for to know it. ``numbers`` are the same on the device of the images.
    """

    seed: int
    epoch: int
    indices: Tensor
    numbers: Tensor


def epoch_of_view(epoch: int, view: int) -> int:
    """What stands for the epoch where a sample is shown in several views: for the first the epoch, for others one that no run
    reaches."""
    return epoch + view * 2**40


def draw_uniform(draws: Draws, stream: str) -> Tensor:
    """float64 (B,) in [0, 1), multiples of 2**-24."""
    return uniform(draws.seed, stream, draws.epoch, draws.indices).double()


def draw_between(draws: Draws, stream: str, low: float, high: float) -> Tensor:
    """float64 (B,) in [low, high)."""
    return draw_uniform(draws, stream) * (high - low) + low


def draw_whole(draws: Draws, stream: str, high: Tensor | int) -> Tensor:
    """int64 (B,) in [0, high), for ``high`` far below 2**24."""
    return (draw_uniform(draws, stream) * high).long()


def draws_at(draws: Draws, places: Tensor) -> Draws:
    """Those of the samples at ``places``, int64 on the CPU."""
    return draws._replace(indices=draws.indices[places], numbers=draws.numbers[places.to(draws.numbers.device)])


def each(function: Callable[[float], float], values: Tensor) -> Tensor:
    """A function of ``math`` of each of the float64 ``values`` (B,).

    torch computes most of a tensor with vector instructions and the last few numbers without, which may round otherwise:
    a sample would depend on its place in the batch.
    """
    return torch.tensor([function(value) for value in values.tolist()], dtype=torch.float64)


def per_image(values: Tensor, images: Tensor) -> Tensor:
    """``values`` (B,) as float32 (B, 1, 1, 1) beside ``images`` (B, H, W, C)."""
    return values.to(images.device, torch.float32).view(-1, 1, 1, 1)


def by_parts(change: Callable[..., Tensor], images: Tensor, *values: Tensor | None) -> Tensor:
    """``change(images, *values)``, on the CPU for a few images at a time: their float copies stay in its cache, and
    the memory for them is used again. Each image becomes the same whatever others are beside it."""
    count = max(1, VALUES_AT_ONCE // math.prod(images.shape[1:]))
    if images.device.type != "cpu" or len(images) <= count:
        return change(images, *values)
    parts = [[None] * len(images) if some is None else some.split(count) for some in (images, *values)]
    return torch.cat([change(*part) for part in zip(*parts, strict=False)])


def put(images: Tensor, places: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """``images`` with ``change`` made to those at ``places``, int64 on the CPU; they themselves stay as they are."""
    if len(places) == 0:
        return images
    if len(places) == len(images):
        return change(images)
    here = places.to(images.device)
    return images.index_copy(0, here, change(images.index_select(0, here)))
