"""Mirroring and shifting: whole pixels change their places, in one gather of bytes."""

from __future__ import annotations

import torch
from torch import Tensor

from training.core.counter_rng import integers, uniform
from training.data.augment.draws import Draws


def shift_and_flip(
    images: Tensor, draws: Draws, *, padding: int = 0, flip: bool = False, vertical_flip: bool = False
) -> Tensor:
    """Pad each of the images uint8 (B, H, W, C) by ``padding`` and cut it back at a random place; mirror half of them.

    As torchvision's RandomHorizontalFlip, RandomVerticalFlip, and RandomCrop with symmetric padding."""
    _, height, width, _ = images.shape
    rows, columns = shift_places(draws, height, width, padding)
    rows, columns = reflect(rows, height), reflect(columns, width)
    if flip:
        columns = torch.where(draw_flipped(draws, "flip"), width - 1 - columns, columns)
    if vertical_flip:
        rows = torch.where(draw_flipped(draws, "vertical flip"), height - 1 - rows, rows)
    return gather_pixels(images, rows, columns)


def shift_places(draws: Draws, height: int, width: int, padding: int) -> tuple[Tensor, Tensor]:
    """The row of each row of pixels, int64 (B, H), and the column of each column (B, W), up to ``padding`` beyond an edge."""
    span = 2 * padding + 1
    places = integers(draws.seed, "shift", draws.epoch, draws.numbers, span * span).unsqueeze(1)
    rows = torch.arange(height, device=places.device) + (places // span - padding)
    return rows, torch.arange(width, device=places.device) + (places % span - padding)


def draw_flipped(draws: Draws, stream: str) -> Tensor:
    """bool (B, 1), on the device of the images: half of them."""
    return (uniform(draws.seed, stream, draws.epoch, draws.numbers) < 0.5).unsqueeze(1)


def gather_pixels(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Image b of the result has at (y, x) the pixel (rows[b, y], columns[b, x]) of image b; (B, H, W, C) each."""
    count, height, width, channels = images.shape
    first = torch.arange(count, device=images.device).mul_(height * width).view(-1, 1, 1)
    places = ((first + (rows * width).unsqueeze(2)) + columns.unsqueeze(1)).view(-1)
    if channels == 1:  # gather moves single bytes several times faster than index_select
        return images.reshape(-1).gather(0, places).view(images.shape)
    return images.reshape(-1, channels).index_select(0, places).view(images.shape)


def reflect(places: Tensor, size: int) -> Tensor:
    """Places beyond an edge, mirrored back at it (the edge pixel repeats); works for any distance."""
    places = places % (2 * size)
    return torch.minimum(places, 2 * size - 1 - places)


def shift_and_flip_zero_padded(
    images: Tensor,
    draws: Draws,
    *,
    padding: int = 0,
    flip: bool = False,
    vertical_flip: bool = False,
    mask: bool = False,
) -> Tensor:
    """``shift_and_flip`` with black around the images. With ``mask`` the last channel holds classes, and 255 outside."""
    _, height, width, _ = images.shape
    rows, columns = shift_places(draws, height, width, padding)
    above, beside = (rows < 0) | (rows >= height), (columns < 0) | (columns >= width)
    outside = above.unsqueeze(2) | beside.unsqueeze(1)
    if flip:
        outside = torch.where(draw_flipped(draws, "flip").unsqueeze(2), outside.flip(2), outside)
    if vertical_flip:
        outside = torch.where(draw_flipped(draws, "vertical flip").unsqueeze(2), outside.flip(1), outside)
    moved = shift_and_flip(images, draws, padding=padding, flip=flip, vertical_flip=vertical_flip)
    moved.masked_fill_(outside.unsqueeze(3), 0)
    if mask:
        moved[..., -1].masked_fill_(outside, 255)
    return moved
