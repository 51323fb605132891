"""Each operation equals torchvision's function of that name, given the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as reference

from training.data.augment import color
from training.data.augment.auto import apply_operations
from training.data.augment.frames import affine_frame, compose, perspective_frame
from training.data.augment.warp import rotate, warp

BILINEAR = v2.InterpolationMode.BILINEAR


def images(count: int = 6, height: int = 21, width: int = 16, channels: int = 3) -> Tensor:
    """Smooth ones, so that a rounded coordinate moves no value by more than a level; one of them is of one color."""
    generator = torch.Generator().manual_seed(channels)
    coarse = torch.rand(count, channels, 5, 4, generator=generator) * 255
    made = torch.nn.functional.interpolate(coarse, (height, width), mode="bilinear").round().to(torch.uint8)
    made[-1] = 70
    return made.permute(0, 2, 3, 1).contiguous()


def numbers(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def by_reference(batch: Tensor, function: Callable[..., Tensor], *arguments: Any, **named: Any) -> Tensor:
    """``function`` of each image; an argument that is a tensor has a row for each of them."""
    made = [
        function(
            image.permute(2, 0, 1),
            *[some[place].item() if isinstance(some, Tensor) else some for some in arguments],
            **{name: some[place].item() if isinstance(some, Tensor) else some for name, some in named.items()},
        )
        for place, image in enumerate(batch)
    ]
    return torch.stack(made).permute(0, 2, 3, 1)


def largest(one: Tensor, other: Tensor) -> int:
    return int((one.int() - other.int()).abs().max())


FACTORS = numbers(0.0, 0.4, 1.0, 1.3, 2.5, 0.7)
SHIFTS = numbers(-0.5, -0.2, 0.0, 0.07, 0.3, 0.5)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("ours", "theirs", "amounts", "tolerance"),
    [
        (color.adjust_brightness, reference.adjust_brightness, FACTORS, 0),
        (color.adjust_contrast, reference.adjust_contrast, FACTORS, 1),  # its mean is a float32 sum, ours a whole one
        (color.adjust_saturation, reference.adjust_saturation, FACTORS, 1),
        (color.adjust_hue, reference.adjust_hue, SHIFTS, 1),
        (color.adjust_sharpness, reference.adjust_sharpness, FACTORS, 1),
        (color.posterize, reference.posterize, numbers(0, 1, 3, 5, 8, 4), 0),
        (color.solarize, reference.solarize, numbers(0.0, 50.0, 127.5, 200.0, 255.0, 70.0), 0),
    ],
    ids=["brightness", "contrast", "saturation", "hue", "sharpness", "posterize", "solarize"],
)
def test_colors_with_an_amount(ours: Any, theirs: Any, amounts: Tensor, tolerance: int, channels: int) -> None:
    batch = images(channels=channels)
    whole = amounts.long() if theirs is reference.posterize else amounts
    assert largest(ours(batch, amounts), by_reference(batch, theirs, whole)) <= tolerance


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("noisy", [False, True])
def test_colors_without_an_amount(channels: int, noisy: bool) -> None:
    batch = images(channels=channels)
    if noisy:
        batch = torch.randint(0, 256, batch.shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    assert largest(color.autocontrast(batch), by_reference(batch, reference.autocontrast)) == 0
    assert largest(color.equalize(batch), by_reference(batch, reference.equalize)) == 0
    if channels == 3:
        gray = by_reference(batch, reference.rgb_to_grayscale, 3)
        assert (
            largest(color.rgb_to_grayscale(batch), gray) <= 1
        )  # a product may round the other way before it is cut off
    else:
        assert color.rgb_to_grayscale(batch) is batch


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_plain_gray_image_has_no_contrast_to_change(channels: int) -> None:
    plain = torch.full((3, 5, 4, channels), 90, dtype=torch.uint8)
    changed = color.adjust_contrast(plain, numbers(0.0, 0.5, 3.0))
    assert largest(changed, plain) <= 2  # torchvision's weights of the three colors add up to 0.9999, then it cuts off


@pytest.mark.parametrize("channels", [1, 3])
def test_blur(channels: int) -> None:
    batch = images(channels=channels)
    sigmas = numbers(0.1, 0.5, 1.0, 1.5, 2.0, 0.8)
    ours = color.gaussian_blur(batch, sigmas, radius=5)
    theirs = [
        reference.gaussian_blur(image.permute(2, 0, 1), [11, 11], [float(sigma)]).permute(1, 2, 0)
        for image, sigma in zip(batch, sigmas, strict=True)
    ]
    assert largest(ours, torch.stack(theirs)) <= 1  # two passes of one dimension instead of one of two


AFFINE: dict[str, Any] = {
    "angle": numbers(0.0, 30.0, -50.0, 10.0, 200.0, 0.0),
    "translate": (numbers(0, 3, -4, 0, 1, 0), numbers(0, -2, 5, 0, 0, 2)),
    "scale": numbers(1.0, 0.8, 1.3, 1.0, 1.1, 1.0),
    "shear": (numbers(0.0, 10.0, 0.0, -20.0, 5.0, 30.0), numbers(0.0, 0.0, 15.0, 8.0, 0.0, 0.0)),
}


def affine(batch: Tensor, **named: Any) -> Tensor:
    parts = [
        reference.affine(
            image.permute(2, 0, 1),
            angle=AFFINE["angle"][place].item(),
            translate=[int(some[place]) for some in AFFINE["translate"]],
            scale=AFFINE["scale"][place].item(),
            shear=[some[place].item() for some in AFFINE["shear"]],
            **named,
        )
        for place, image in enumerate(batch)
    ]
    return torch.stack(parts).permute(0, 2, 3, 1)


def our_affine() -> Tensor:
    shear = tuple(torch.deg2rad(some) for some in AFFINE["shear"])
    return affine_frame(torch.deg2rad(AFFINE["angle"]), AFFINE["translate"], AFFINE["scale"], (shear[0], shear[1]))


@pytest.mark.parametrize("channels", [1, 3])
def test_affine(channels: int) -> None:
    batch = images(channels=channels)
    theirs = affine(batch, interpolation=BILINEAR)
    assert largest(warp(batch, our_affine(), padding_mode="zeros"), theirs) <= 1


def test_affine_of_a_mask_takes_the_nearest_class_and_255_outside() -> None:
    batch = images(channels=4)
    batch[..., 3] = torch.randint(0, 9, batch.shape[:3], generator=torch.Generator().manual_seed(2))
    moved = warp(batch, our_affine(), padding_mode="zeros", mask=True)
    theirs = affine(batch[..., 3:], interpolation=v2.InterpolationMode.NEAREST, fill=255)
    # A place in the middle of two pixels, or on the border, goes either way.
    assert float((moved[..., 3:] == theirs).float().mean()) > 0.98
    assert 255 in moved[..., 3]
    assert torch.equal(moved[..., :3], warp(batch[..., :3], our_affine(), padding_mode="zeros"))


def test_outside_is_the_mirror_image_as_grid_sample_makes_it() -> None:
    """The one difference from torchvision, which fills with a color: its black corners are a feature to learn."""
    batch = images()
    angles = numbers(0.1, -0.4, 1.0, 2.5, 0.0, 0.3)
    none = torch.zeros_like(angles)
    frame = affine_frame(-angles, (none, none), none + 1, (none, none))
    assert largest(warp(batch, frame), rotate(batch, angles).round()) <= 1
    inside = warp(torch.full_like(batch, 255), frame, padding_mode="zeros") == 255
    zeros = warp(batch, frame, padding_mode="zeros")
    assert largest(warp(batch, frame) * inside, zeros * inside) == 0
    assert not bool(inside.all())


@pytest.mark.parametrize("size", [(21, 16), (8, 30)])
def test_perspective(size: tuple[int, int]) -> None:
    height, width = size
    batch = images(height=height, width=width)
    right, bottom = width - 1, height - 1
    ends = [
        [[0, 0], [right, 0], [right, bottom], [0, bottom]],
        [[2, 1], [right, 2], [right - 1, bottom], [1, bottom - 2]],
        [[0, 3], [right - 3, 0], [right, bottom - 1], [2, bottom]],
        [[3, 0], [right - 3, 0], [right, bottom], [0, bottom]],
        [[1, 1], [right, 0], [right, bottom], [0, bottom - 2]],
        [[0, 0], [right, 0], [right, bottom], [3, bottom - 3]],
    ]
    starts = [[0, 0], [right, 0], [right, bottom], [0, bottom]]
    theirs = [
        reference.perspective(image.permute(2, 0, 1), starts, end, interpolation=BILINEAR).permute(1, 2, 0)
        for image, end in zip(batch, ends, strict=True)
    ]
    frame = perspective_frame(torch.tensor(ends, dtype=torch.float64), height, width)
    assert largest(warp(batch, frame, padding_mode="zeros"), torch.stack(theirs)) <= 1


def test_resized_crop() -> None:
    batch = images()
    crops = torch.tensor([[0, 0, 21, 16], [3, 2, 10, 9], [20, 15, 1, 1], [0, 7, 5, 9], [4, 0, 17, 3], [1, 1, 2, 2]])
    theirs = [
        reference.resized_crop(image.permute(2, 0, 1), *crop, size=[21, 16]).permute(1, 2, 0)
        for image, crop in zip(batch, crops.tolist(), strict=True)
    ]
    assert largest(warp(batch, None, crops), torch.stack(theirs)) <= 1


def test_a_crop_comes_before_a_frame() -> None:
    """One look-up instead of two: where the image is a plane, whose interpolation loses nothing, both are the same."""
    y, x = torch.meshgrid(torch.arange(40.0), torch.arange(40.0), indexing="ij")
    batch = (2 * x + 3 * y).to(torch.uint8).view(1, 40, 40, 1)
    crop = torch.tensor([[4, 6, 30, 28]])
    none = torch.zeros(1, dtype=torch.float64)
    frame = affine_frame(none + 0.3, (none + 2, none), none + 1.2, (none, none))
    at_once = warp(batch, frame, crop, padding_mode="zeros")
    one_by_one = warp(warp(batch, None, crop), frame, padding_mode="zeros")
    assert largest(at_once[:, 10:30, 10:30], one_by_one[:, 10:30, 10:30]) <= 1


def test_frames_follow_each_other() -> None:
    one = torch.full((1,), 0.4, dtype=torch.float64)
    none = torch.zeros_like(one)
    turned = affine_frame(one, (none, none), none + 1, (none, none))
    moved = affine_frame(none, (none + 3, none - 2), none + 1, (none, none))
    assert torch.allclose(compose(turned, moved), turned @ moved, atol=1e-14)
    twice = affine_frame(2 * one, (none, none), none + 1, (none, none))
    assert torch.allclose(compose(turned, turned), twice, atol=1e-14)


NAMES = (
    *("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness"),
    *("Posterize", "Solarize", "AutoContrast", "Equalize", "Identity"),
)


@pytest.mark.parametrize("policy", [v2.RandAugment, v2.TrivialAugmentWide])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("number", range(14), ids=NAMES)
def test_automatic_operations(number: int, sign: float, policy: Any) -> None:
    """Each operation at each of seven strengths against torchvision's own, black outside as there."""
    height, width = 40, 32
    batch = images(7, height, width)
    bins = [0, 4, 9, 15, 20, 26, 30]
    if policy is v2.RandAugment:
        limits = (0.3, 0.3, 150 / 331 * width, 150 / 331 * height, 30.0, 0.9, 0.9, 0.9, 0.9, 4.0)
    else:
        limits = (0.99, 0.99, 32.0, 32.0, 135.0, 0.99, 0.99, 0.99, 0.99, 6.0)
    ours = apply_operations(
        batch,
        torch.full((7,), number),
        torch.tensor(bins, dtype=torch.float64) / 30,
        torch.full((7,), sign, dtype=torch.float64),
        limits,
        padding_mode="zeros",
    )
    transform = policy(interpolation=BILINEAR)
    strengths, signed = policy._AUGMENTATION_SPACE[NAMES[number]]
    values = strengths(31, height, width)
    for place, strength in enumerate(bins):
        magnitude = 0.0 if values is None else float(values[strength]) * (sign if signed else 1.0)
        if (
            "Translate" in NAMES[number]
        ):  # 16 pixels are 15.999999 in its float32, and it cuts off what is behind the point
            magnitude = round(magnitude, 5)
        image = batch[place].permute(2, 0, 1)
        theirs = transform._apply_image_or_video_transform(image, NAMES[number], magnitude, BILINEAR, {})
        assert largest(ours[place], theirs.permute(1, 2, 0)) <= 1
