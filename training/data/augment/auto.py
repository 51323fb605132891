"""RandAugment and TrivialAugment: random operations of a fixed list, each image its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from training.data.augment.color import (
    adjust_brightness,
    adjust_contrast,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    equalize,
    posterize,
    solarize,
)
from training.data.augment.draws import Draws, by_parts, draw_uniform, draw_whole, each
from training.data.augment.frames import affine_frame
from training.data.augment.warp import warp

BINS = 31
"""Strengths run from 0 to 30."""
SHEAR_OPERATIONS = (0, 1)
TRANSLATION_OPERATIONS = (2, 3)
ROTATION_OPERATION = 4
FIRST_COLOR_OPERATION = 5
COLOR_CHANGES: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
    lambda images, strengths: adjust_brightness(images, 1.0 + strengths),
    lambda images, strengths: adjust_saturation(images, 1.0 + strengths),
    lambda images, strengths: adjust_contrast(images, 1.0 + strengths),
    lambda images, strengths: adjust_sharpness(images, 1.0 + strengths),
    posterize,
    lambda images, strengths: solarize(images, strengths * 255.0),
    lambda images, strengths: autocontrast(images),
    lambda images, strengths: equalize(images),
)
"""Operations 5 to 12; 0 to 4 are shear and translation along x and y and rotation, 13 changes nothing."""
SIGNED_OPERATIONS = 9
"""Operations before this one are drawn with either sign."""
OPERATIONS = 14


def rand_augment(
    images: Tensor,
    draws: Draws,
    *,
    num_ops: int,
    magnitude: int,
    padding_mode: str = "reflection",
    mask: bool = False,
) -> Tensor:
    """torchvision's RandAugment (Cubuk et al. 2020) of uint8 (B, H, W, C): ``num_ops`` operations of strength
    ``magnitude``, 0 to 30, one after the other."""
    _, height, width, _ = images.shape
    share = magnitude / (BINS - 1)
    limits = (0.3, 0.3, 150 / 331 * width, 150 / 331 * height, 30.0, 0.9, 0.9, 0.9, 0.9, 4.0)
    strengths = torch.full((len(draws.indices),), share, dtype=torch.float64)
    for number in range(num_ops):
        stream = f"auto augment {number}"
        images = _one_operation(images, draws, stream, strengths, limits, padding_mode, mask)
    return images


def trivial_augment_wide(
    images: Tensor, draws: Draws, *, padding_mode: str = "reflection", mask: bool = False
) -> Tensor:
    """torchvision's TrivialAugmentWide (Müller and Hutter 2021) of uint8 (B, H, W, C): one operation of any strength."""
    limits = (0.99, 0.99, 32.0, 32.0, 135.0, 0.99, 0.99, 0.99, 0.99, 6.0)
    strengths = draw_whole(draws, "auto augment strength", BINS).double() / (BINS - 1)
    return _one_operation(images, draws, "auto augment 0", strengths, limits, padding_mode, mask)


def _one_operation(
    images: Tensor,
    draws: Draws,
    stream: str,
    strengths: Tensor,
    limits: tuple[float, ...],
    padding_mode: str,
    mask: bool,
) -> Tensor:
    """An operation for each image, of ``strengths`` (B,) from 0 to 1; ``limits`` are the largest of operations 0 to 9."""
    chosen = draw_whole(draws, stream, OPERATIONS)
    sign = torch.where(draw_uniform(draws, f"{stream} sign") < 0.5, -1.0, 1.0)
    return apply_operations(images, chosen, strengths, sign, limits, padding_mode, mask)


def apply_operations(
    images: Tensor,
    chosen: Tensor,
    strengths: Tensor,
    sign: Tensor,
    limits: tuple[float, ...],
    padding_mode: str = "reflection",
    mask: bool = False,
) -> Tensor:
    """Operation ``chosen`` (B,) for each of the images; the other tensors are float64 (B,), all on the CPU."""
    _, height, width, _ = images.shape
    # Solarize's threshold falls from 1 to 0; the last operations know no strength.
    most = torch.tensor([*limits, 0.0, 0.0, 0.0, 0.0], dtype=torch.float64)[chosen] * strengths
    signed = torch.where(chosen < SIGNED_OPERATIONS, most * sign, most)
    changed = images.clone()
    places = (chosen < FIRST_COLOR_OPERATION).nonzero().flatten()
    if len(places):
        here = places.to(images.device)
        frame = _frame(chosen[places], signed[places], height, width)
        turned = partial(warp, padding_mode=padding_mode, mask=mask)
        changed.index_copy_(0, here, by_parts(turned, images.index_select(0, here), frame))
    colors = slice(0, images.shape[3] - 1) if mask else slice(None)
    for number, change in enumerate(COLOR_CHANGES, FIRST_COLOR_OPERATION):
        places = (chosen == number).nonzero().flatten()
        if len(places) == 0:
            continue
        here = places.to(images.device)
        amounts = signed[places]
        if change is posterize:
            amounts = (8 - amounts).round()
        elif number == FIRST_COLOR_OPERATION + 5:
            amounts = 1.0 - strengths[places]
        some = images.index_select(0, here)[..., colors].contiguous()
        changed[here, ..., colors] = by_parts(change, some, amounts)
    return changed


def _frame(chosen: Tensor, signed: Tensor, height: int, width: int) -> Tensor:
    """Where pixels come from for operations 0 to 4: float64 (B, 3, 3)."""
    none = torch.zeros_like(signed)
    slant = each(math.atan, signed)
    x_shear, y_shear = (torch.where(chosen == number, slant, none) for number in SHEAR_OPERATIONS)
    across, down = (torch.where(chosen == number, signed.trunc(), none) for number in TRANSLATION_OPERATIONS)
    angle = torch.where(chosen == ROTATION_OPERATION, each(math.radians, -signed), none)
    corner = chosen < TRANSLATION_OPERATIONS[0]  # shears hold the top left corner, rotation the middle
    center = (torch.where(corner, -width / 2, none), torch.where(corner, -height / 2, none))
    return affine_frame(angle, (across, down), none + 1, (x_shear, y_shear), center)
