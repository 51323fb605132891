"""Random rectangles inside an image, for resized crops and for erasing."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from training.data.augment.draws import Draws, draw_between, draw_whole, draws_at, each

_TRIES = 10


def draw_rectangles(
    draws: Draws,
    stream: str,
    size: tuple[int, int],
    scale: tuple[float, float],
    ratio: tuple[float, float],
    whole: bool,
) -> Tensor:
    """int64 (B, 4): top, left, height and width, drawn as torchvision's RandomResizedCrop and RandomErasing do.

    ``size`` is the image's height and width, ``scale`` the rectangle's share of its area, ``ratio`` the bounds of width by
    height, uniform in its logarithm. A rectangle that does not fit is drawn again, ten times at most; after that it is
    all of the image that ``ratio`` allows, in the middle. ``whole`` says that it may be as high or wide as the image.
    """
    height, width = size
    room = 0 if whole else 1
    found = _middle(size, ratio).repeat(len(draws.indices), 1)
    open_places = torch.arange(len(draws.indices))
    for attempt in range(_TRIES):
        some = draws_at(draws, open_places)
        area = draw_between(some, f"{stream} area {attempt}", *scale) * (height * width)
        logs = draw_between(some, f"{stream} ratio {attempt}", math.log(ratio[0]), math.log(ratio[1]))
        aspect = each(math.exp, logs)
        columns, rows = torch.sqrt(area * aspect).round().long(), torch.sqrt(area / aspect).round().long()
        fits = (columns > 0) & (columns <= width - room) & (rows > 0) & (rows <= height - room)
        top = draw_whole(some, f"{stream} top {attempt}", (height - rows + 1).clamp(min=1))
        left = draw_whole(some, f"{stream} left {attempt}", (width - columns + 1).clamp(min=1))
        found[open_places[fits]] = torch.stack([top, left, rows, columns], 1)[fits]
        open_places = open_places[~fits]
        if len(open_places) == 0:
            break
    return found


def _middle(size: tuple[int, int], ratio: tuple[float, float]) -> Tensor:
    height, width = size
    rows, columns = height, width
    if width / height < ratio[0]:
        rows = max(1, round(width / ratio[0]))
    elif width / height > ratio[1]:
        columns = max(1, round(height * ratio[1]))
    return torch.tensor([[(height - rows) // 2, (width - columns) // 2, rows, columns]])
