"""Erasing: a random rectangle of an image becomes the mean color."""

from __future__ import annotations

import torch
from torch import Tensor

from training.data.augment.draws import Draws, draw_uniform, draws_at
from training.data.augment.rectangles import draw_rectangles

ERASED_SHARE = (0.02, 0.33)
ERASED_RATIO = (1 / 3.3, 1 / 0.3)


def erase(images: Tensor, draws: Draws, *, probability: float, color: Tensor | float = 0.0) -> Tensor:
    """torchvision's RandomErasing with its defaults, of some of the images (B, H, W, C).

    ``color`` (C,) goes where an image is erased: after normalization 0, the mean of the training samples.
    """
    _, height, width, _ = images.shape
    chosen = draw_uniform(draws, "erasing") < probability
    places = chosen.nonzero().flatten()
    if len(places) == 0:
        return images
    found = draw_rectangles(
        draws_at(draws, places), "erasing", (height, width), ERASED_SHARE, ERASED_RATIO, whole=False
    )
    fits = (found[:, 2] < height) & (found[:, 3] < width)  # what found no place stays whole
    here = places[fits].to(images.device)
    inside = rectangle_masks(found[fits].to(images.device), height, width).unsqueeze(3)
    color = torch.as_tensor(color, dtype=images.dtype, device=images.device)
    return images.index_copy(0, here, torch.where(inside, color, images.index_select(0, here)))


def rectangle_masks(rectangles: Tensor, height: int, width: int) -> Tensor:
    """bool (B, height, width), true inside the rectangles int64 (B, 4): top, left, height, width."""
    top, left, rows, columns = rectangles.view(-1, 4, 1).unbind(1)
    y, x = (torch.arange(side, device=rectangles.device).view(1, -1) for side in (height, width))
    down, across = (y >= top) & (y < top + rows), (x >= left) & (x < left + columns)
    return down.unsqueeze(2) & across.unsqueeze(1)
