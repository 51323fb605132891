"""Images seen through a frame and a crop: one look-up for turning, scaling, shearing, perspective and resized crop."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

_NEAREST_HORIZON = 1e-3


def warp(
    images: Tensor,
    frame: Tensor | None,
    crop: Tensor | None = None,
    padding_mode: str = "reflection",
    mask: bool = False,
) -> Tensor:
    """The uint8 images (B, H, W, C) cut to ``crop`` and scaled back, then through ``frame``; bilinear, rounded to uint8.

    ``crop`` int64 (B, 4) is top, left, height and width in pixels, ``frame`` float64 (B, 3, 3) as ``frames`` makes it.
    What comes in from outside is the reflection of what is inside, or black where ``padding_mode`` is "zeros". With ``mask``
    the last channel holds classes: each pixel gets that of the nearest one, outside 255.
    """
    _, height, width, _ = images.shape
    device = images.device
    x = (torch.arange(width, device=device) - (width - 1) / 2).view(1, 1, -1)
    y = (torch.arange(height, device=device) - (height - 1) / 2).view(1, -1, 1)
    if frame is not None:
        x, y = _apply_frame(frame.to(device, torch.float32).unsqueeze(3).unsqueeze(4), x, y)
    x, y = x + (width - 1) / 2, y + (height - 1) / 2
    outside = share = None
    if frame is not None and padding_mode == "zeros":
        # What bilinear interpolation with black neighbors gives.
        share = _share_inside(x, width) * _share_inside(y, height)
        outside = (x < -0.5) | (x > width - 0.5) | (y < -0.5) | (y > height - 0.5)
        x, y = x.clamp(0, width - 1), y.clamp(0, height - 1)
    elif frame is not None:
        x, y = _reflect_between_edges(x, width), _reflect_between_edges(y, height)
    if crop is not None:
        top, left, rows, columns = crop.to(device, torch.float32).view(-1, 4, 1, 1).unbind(1)
        # The edge of the crop repeats, as when the crop is cut out and scaled.
        x = torch.minimum(torch.maximum(left + ((x + 0.5) * (columns / width) - 0.5), left), left + columns - 1)
        y = torch.minimum(torch.maximum(top + ((y + 0.5) * (rows / height) - 0.5), top), top + rows - 1)
    size = (len(images), height, width)
    grid = torch.stack(
        [((x + 0.5) * (2 / width) - 1).expand(size), ((y + 0.5) * (2 / height) - 1).expand(size)],
        dim=3,
    )
    colors = images[..., :-1] if mask else images
    planes = functional.grid_sample(
        colors.permute(0, 3, 1, 2).to(torch.float32, memory_format=torch.contiguous_format),
        grid,
        mode="bilinear",
        padding_mode="border",
        align_corners=False,
    )
    if share is not None:
        planes = planes * share.unsqueeze(1)
    warped = planes.round_().to(torch.uint8).permute(0, 2, 3, 1)
    if not mask:
        return warped.contiguous()
    classes = _nearest(images[..., -1], x.expand(size), y.expand(size))
    if outside is not None:
        classes = classes.masked_fill(outside, 255)
    return torch.cat([warped, classes.unsqueeze(3)], dim=3)


def rotate(images: Tensor, angles: Tensor) -> Tensor:
    """Turn each image (B, H, W, C) by its angle, float64 (B,) in radians, about the center; float32, bilinear.

    What turns in from outside is the image's reflection: black corners would be a feature to learn.
    """
    _, height, width, _ = images.shape
    cosine, sine = torch.cos(angles).float().view(-1, 1, 1), torch.sin(angles).float().view(-1, 1, 1)
    # In pixels, so that an image that is not square turns without shearing. Products and sums one by one: a matrix
    # product may round differently with the size of the batch.
    x = (torch.arange(width, device=images.device) - (width - 1) / 2).view(1, 1, -1)
    y = (torch.arange(height, device=images.device) - (height - 1) / 2).view(1, -1, 1)
    grid = torch.stack([(x * cosine - y * sine) * (2 / width), (x * sine + y * cosine) * (2 / height)], dim=3)
    turned = functional.grid_sample(
        images.permute(0, 3, 1, 2).to(torch.float32, memory_format=torch.contiguous_format),
        grid,
        mode="bilinear",
        padding_mode="reflection",
        align_corners=False,
    )
    return turned.permute(0, 2, 3, 1).contiguous()


def _apply_frame(frame: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """``frame`` (B, 3, 3, 1, 1) at the places ``x`` (1, 1, W) and ``y`` (1, H, 1)."""
    (x_x, x_y, x_1), (y_x, y_y, y_1), (w_x, w_y, w_1) = (row.unbind(1) for row in frame.unbind(1))
    depth = w_x * x + w_y * y + w_1
    depth = depth.clamp(min=_NEAREST_HORIZON)  # behind the horizon of a strong perspective: far outside
    return (x_x * x + x_y * y + x_1) / depth, (y_x * x + y_y * y + y_1) / depth


def _share_inside(places: Tensor, size: int) -> Tensor:
    return torch.minimum(places + 1, size - places).clamp(0, 1)


def _reflect_between_edges(places: Tensor, size: int) -> Tensor:
    """Places among 0..size-1, mirrored at the outer edges of the first and last pixel, as ``grid_sample`` does it."""
    places = torch.remainder(places + 0.5, 2.0 * size)
    return (torch.minimum(places, 2 * size - places) - 0.5).clamp(0, size - 1)


def _nearest(classes: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The classes (B, H, W) at the places nearest to ``x`` and ``y`` (B, H, W)."""
    count, height, width = classes.shape
    places = y.round().clamp(0, height - 1).long() * width + x.round().clamp(0, width - 1).long()
    return classes.reshape(count, -1).gather(1, places.view(count, -1)).view(classes.shape)
