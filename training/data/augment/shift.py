"""Mirroring and shifting: whole pixels change their places, in one gather of bytes."""

from __future__ import annotations

import torch
from torch import Tensor

from training.core.counter_rng import integers, uniform
from training.data.augment.draws import Draws


def shift_and_flip(
    pictures: Tensor,
    draws: Draws,
    *,
    padding: int = 0,
    flip: bool = False,
    vertical_flip: bool = False,
    padding_mode: str = "reflection",
    mask: bool = False,
) -> Tensor:
    """Pad each of the pictures uint8 (B, H, W, C) by ``padding`` and cut it back at a random place; mirror half of them.

    As torchvision's RandomCrop(padding), RandomHorizontalFlip and RandomVerticalFlip, but that padding mirrors the edge
    pixels, too, unless ``padding_mode`` is "zeros". With ``mask`` the last channel holds classes, and 255 outside.
    """
    _, height, width, _ = pictures.shape
    device = pictures.device
    rows = torch.arange(height, device=device).expand(len(pictures), height)
    columns = torch.arange(width, device=device).expand(len(pictures), width)
    outside: Tensor | None = None
    if padding:
        span = 2 * padding + 1
        places = integers(draws.seed, "shift", draws.epoch, draws.numbers, span * span)
        rows = rows + (places // span - padding).unsqueeze(1)
        columns = columns + (places % span - padding).unsqueeze(1)
        if padding_mode == "zeros":
            above, beside = (rows < 0) | (rows >= height), (columns < 0) | (columns >= width)
            outside = above.unsqueeze(2) | beside.unsqueeze(1)
        rows, columns = reflected(rows, height), reflected(columns, width)
    if flip:
        mirrored = uniform(draws.seed, "flip", draws.epoch, draws.numbers) < 0.5
        columns = torch.where(mirrored.unsqueeze(1), width - 1 - columns, columns)
        if outside is not None:
            outside = torch.where(mirrored.view(-1, 1, 1), outside.flip(2), outside)
    if vertical_flip:
        mirrored = uniform(draws.seed, "vertical flip", draws.epoch, draws.numbers) < 0.5
        rows = torch.where(mirrored.unsqueeze(1), height - 1 - rows, rows)
        if outside is not None:
            outside = torch.where(mirrored.view(-1, 1, 1), outside.flip(1), outside)
    moved = gather_pixels(pictures, rows, columns)
    return moved if outside is None else blank(moved, outside, mask)


def gather_pixels(pictures: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Picture b of the result has at (y, x) the pixel (rows[b, y], columns[b, x]) of picture b; (B, H, W, C) each."""
    count, height, width, channels = pictures.shape
    first = torch.arange(count, device=pictures.device).mul_(height * width).view(-1, 1, 1)
    places = ((first + (rows * width).unsqueeze(2)) + columns.unsqueeze(1)).view(-1)
    if channels == 1:  # gather moves single bytes several times faster than index_select
        return pictures.reshape(-1).gather(0, places).view(pictures.shape)
    return pictures.reshape(-1, channels).index_select(0, places).view(pictures.shape)


def blank(pictures: Tensor, outside: Tensor, mask: bool) -> Tensor:
    """Pictures (B, H, W, C) black where ``outside``, bool (B, H, W); the class there is 255, which no loss looks at."""
    blanked = pictures.masked_fill(outside.unsqueeze(3), 0)
    if mask:
        blanked[..., -1].masked_fill_(outside, 255)
    return blanked


def reflected(places: Tensor, size: int) -> Tensor:
    """Places beyond an edge, mirrored back at it (the edge pixel repeats); works for any distance."""
    places = places % (2 * size)
    return torch.minimum(places, 2 * size - 1 - places)
