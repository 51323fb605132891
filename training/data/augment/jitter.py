"""Random changes of color and focus; they leave the geometry, and so a mask, alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from training.data.augment.color import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
    gaussian_blur,
    rgb_to_grayscale,
)
from training.data.augment.draws import Draws, by_parts, draw_between, draw_uniform, put


def jitter_color(
    images: Tensor,
    draws: Draws,
    *,
    brightness: float = 0.0,
    contrast: float = 0.0,
    saturation: float = 0.0,
    hue: float = 0.0,
) -> Tensor:
    """torchvision's ColorJitter of uint8 (B, H, W, C), in an order of its own for each image.

    A factor is drawn from 1 - amount (at least 0) to 1 + amount, the shift of the hue from -``hue`` to ``hue``.
    """
    changes: list[tuple[Callable[[Tensor, Tensor], Tensor], Tensor]] = []
    for name, change, amount in (
        ("brightness", adjust_brightness, brightness),
        ("contrast", adjust_contrast, contrast),
        ("saturation", adjust_saturation, saturation),
    ):
        if amount:
            changes.append((change, draw_between(draws, name, max(0.0, 1.0 - amount), 1.0 + amount)))
    if hue:
        changes.append((adjust_hue, draw_between(draws, "hue", -hue, hue)))
    # The spelling stays: the numbers drawn follow from a stream's name.
    ranks = torch.stack([draw_uniform(draws, f"order of colour {place}") for place in range(len(changes))], 1)
    order = torch.sort(ranks, dim=1, stable=True).indices
    for turn in order.unbind(1):
        changed = torch.empty_like(images)
        for number, (made, amounts) in enumerate(changes):
            places = (turn == number).nonzero().flatten()
            here = places.to(images.device)
            changed.index_copy_(0, here, by_parts(made, images.index_select(0, here), amounts[places]))
        images = changed
    return images


def turn_gray(images: Tensor, draws: Draws, *, probability: float) -> Tensor:
    """torchvision's RandomGrayscale of uint8 (B, H, W, C)."""
    return put(images, (draw_uniform(draws, "grayscale") < probability).nonzero().flatten(), rgb_to_grayscale)


def blur(images: Tensor, draws: Draws, *, probability: float, sigma: float) -> Tensor:
    """torchvision's GaussianBlur of uint8 (B, H, W, C) for some, each with a width drawn from 0.1 to ``sigma`` pixels.

    The kernel reaches three times ``sigma`` to each side, as far as the image does.
    """
    places = (draw_uniform(draws, "blur") < probability).nonzero().flatten()
    sigmas = draw_between(draws, "blur sigma", min(0.1, sigma), sigma)[places]
    radius = min(math.ceil(3 * sigma), *(side - 1 for side in images.shape[1:3]))
    return put(images, places, lambda some: by_parts(partial(gaussian_blur, radius=radius), some, sigmas))
