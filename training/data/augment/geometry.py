"""Turning, affine maps, perspective and resized crop, drawn for each image and made in one look-up."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from training.core.counter_rng import uniform
from training.data.augment.draws import Draws, by_parts, draw_between, draw_uniform, draw_whole, put
from training.data.augment.frames import affine_frame, compose, perspective_frame
from training.data.augment.rectangles import draw_rectangles
from training.data.augment.warp import rotate, warp


def turn(images: Tensor, draws: Draws, *, degrees: float) -> Tensor:
    """Turn each image by up to ``degrees`` either way; float32 on the scale of 0 to 255."""
    turns = uniform(draws.seed, "rotation", draws.epoch, draws.numbers).double() * 2 - 1
    return rotate(images, turns * math.radians(degrees))


def deform(
    images: Tensor,
    draws: Draws,
    *,
    crop_scale: float = 1.0,
    crop_ratio: float = 1.0,
    degrees: float = 0.0,
    translate: float = 0.0,
    scale: float = 0.0,
    shear: float = 0.0,
    distortion: float = 0.0,
    padding_mode: str = "reflection",
    mask: bool = False,
) -> Tensor:
    """torchvision's RandomResizedCrop, RandomAffine and RandomPerspective, one after the other, of uint8 (B, H, W, C).

    Their results are composed before anything is looked up, so that pixels are interpolated once and not three times.
    ``crop_scale`` is the smallest share of the area that is kept, ``crop_ratio`` how far width by height may be from 1;
    ``degrees``, ``translate`` (share of a side), ``scale`` (around 1) and ``shear`` (degrees) are drawn up to that much either
    way. Half of the images get a perspective, of up to ``distortion``.
    """
    _, height, width, _ = images.shape
    crop = frame = None
    if crop_scale < 1.0:
        limits = (1 / crop_ratio, crop_ratio)
        crop = draw_rectangles(draws, "resized crop", (height, width), (crop_scale, 1.0), limits, whole=True)
    if degrees or translate or scale or shear:
        frame = _affine(draws, height, width, degrees, translate, scale, shear)
    places = torch.arange(len(images))
    if distortion:
        seen = draw_uniform(draws, "perspective") < 0.5
        sharp = perspective_frame(_corners(draws, height, width, distortion), height, width)
        sharp = torch.where(seen.view(-1, 1, 1), sharp, torch.eye(3, dtype=torch.float64))
        if crop is None and frame is None:
            places = seen.nonzero().flatten()  # the others stay as they are
        frame = sharp if frame is None else compose(frame, sharp)
    frame, crop = (some if some is None else some[places] for some in (frame, crop))
    change = partial(warp, padding_mode=padding_mode, mask=mask)
    return put(images, places, lambda some: by_parts(change, some, frame, crop))


def _affine(
    draws: Draws, height: int, width: int, degrees: float, translate: float, scale: float, shear: float
) -> Tensor:
    angle = draw_between(draws, "rotation", -1.0, 1.0) * -math.radians(degrees)  # the same way round as ``rotate``
    across = draw_between(draws, "translation across", -translate * width, translate * width).round()
    down = draw_between(draws, "translation down", -translate * height, translate * height).round()
    zoom = draw_between(draws, "scale", 1.0 - scale, 1.0 + scale)
    slant = draw_between(draws, "shear", -1.0, 1.0) * math.radians(shear)
    return affine_frame(angle, (across, down), zoom, (slant, torch.zeros_like(slant)))


def _corners(draws: Draws, height: int, width: int, distortion: float) -> Tensor:
    """Where torchvision's RandomPerspective puts the corners: float64 (B, 4, 2)."""
    across, down = int(distortion * (width // 2)) + 1, int(distortion * (height // 2)) + 1
    corners = []
    for name, right, bottom in (("a", 0, 0), ("b", 1, 0), ("c", 1, 1), ("d", 0, 1)):
        x = draw_whole(draws, f"perspective corner {name} x", across) + right * (width - across)
        y = draw_whole(draws, f"perspective corner {name} y", down) + bottom * (height - down)
        corners.append(torch.stack([x, y], 1))
    return torch.stack(corners, 1).double()
