"""How training pictures are varied."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from training.config.dataset_section import DatasetSection, PartsSection
from training.config.fields import setting


class ImageSection(DatasetSection):
    """Variation of the training images, drawn for each sample and epoch."""

    layout = "image"
    called = "pictures"

    flip: bool = setting(
        False, title="Mirror", help="Mirror half of the training images left to right. Wrong for digits and text."
    )
    crop_padding: int = setting(
        0,
        title="Shift",
        help="Pad each training image by this much and cut it back at a random place. 4 suits 32-pixel images.",
        unit="px",
        ge=0,
        le=64,
    )
    rotation: float = setting(
        0.0,
        title="Rotation",
        help="Turn each training image by a random angle up to this many degrees either way.",
        unit="°",
        ge=0.0,
        le=180.0,
    )
    resized_crop_scale: float = setting(
        1.0,
        title="Smallest crop",
        help="Cut a random part out of each training image, at least this share of its area, and scale it back to full "
        "size. 0.08 suits ImageNet, 0.5 and more small images; 1 cuts nothing.",
        gt=0.0,
        le=1.0,
    )
    auto_augment: Literal["none", "rand_augment", "trivial_augment_wide"] = setting(
        "none",
        title="Automatic variation",
        help="Random changes of colour and geometry. rand_augment: a few of one strength. trivial_augment_wide: one of any "
        "strength, nothing to tune.",
    )
    vertical_flip: bool = setting(
        False,
        title="Turn upside down",
        help="Mirror half of the training images top to bottom. For pictures without an up, as from above.",
        advanced=True,
        group="Geometry",
    )
    resized_crop_ratio: float = setting(
        1.3333,
        title="Widest crop",
        help="Crops are up to this many times as wide as high, or as high as wide. Matters with a smallest crop below 1.",
        advanced=True,
        group="Geometry",
        ge=1.0,
        le=10.0,
    )
    translate: float = setting(
        0.0,
        title="Translation",
        help="Move each training image by up to this share of its sides.",
        advanced=True,
        group="Geometry",
        ge=0.0,
        le=1.0,
    )
    affine_scale: float = setting(
        0.0,
        title="Zoom",
        help="Scale each training image by a factor drawn from 1 minus to 1 plus this; 0.2 draws from 0.8 to 1.2.",
        advanced=True,
        group="Geometry",
        ge=0.0,
        le=0.9,
    )
    shear: float = setting(
        0.0,
        title="Shear",
        help="Slant each training image by up to this many degrees either way.",
        unit="°",
        advanced=True,
        group="Geometry",
        ge=0.0,
        le=80.0,
    )
    perspective: float = setting(
        0.0,
        title="Perspective",
        help="See half of the training images from aside; the corners move by up to this share of half the side. torchvision "
        "uses 0.5.",
        advanced=True,
        group="Geometry",
        ge=0.0,
        le=0.9,
    )
    padding_mode: Literal["reflection", "zeros"] = setting(
        "reflection",
        title="Outside",
        help="What fills the place when an image is moved or turned. reflection: its mirror image, so that edges are no "
        "feature to learn. zeros: black.",
        advanced=True,
        group="Geometry",
    )
    rand_augment_num_ops: int = setting(
        2,
        title="Random changes",
        help="How many changes rand_augment makes to each training image.",
        advanced=True,
        group="RandAugment",
        ge=1,
        le=10,
    )
    rand_augment_magnitude: int = setting(
        9,
        title="Change strength",
        help="How strong the changes of rand_augment are; 30 is the most.",
        advanced=True,
        group="RandAugment",
        ge=0,
        le=30,
    )
    brightness: float = setting(
        0.0,
        title="Brightness",
        help="Make each training image brighter or darker by a factor drawn from 1 minus to 1 plus this.",
        advanced=True,
        group="Colour and focus",
        ge=0.0,
        le=5.0,
    )
    contrast: float = setting(
        0.0,
        title="Contrast",
        help="Change the contrast of each training image by a factor drawn from 1 minus to 1 plus this.",
        advanced=True,
        group="Colour and focus",
        ge=0.0,
        le=5.0,
    )
    saturation: float = setting(
        0.0,
        title="Saturation",
        help="Change the strength of the colours by a factor drawn from 1 minus to 1 plus this. Nothing happens to grey "
        "images.",
        advanced=True,
        group="Colour and focus",
        ge=0.0,
        le=5.0,
    )
    hue: float = setting(
        0.0,
        title="Hue",
        help="Turn all colours round the circle of colours by up to this share of it either way; 0.1 is a lot already. "
        "Nothing happens to grey images.",
        advanced=True,
        group="Colour and focus",
        ge=0.0,
        le=0.5,
    )
    grayscale: float = setting(
        0.0,
        title="Grey",
        help="Share of the training images that lose their colours.",
        advanced=True,
        group="Colour and focus",
        ge=0.0,
        le=1.0,
    )
    blur: float = setting(
        0.0,
        title="Blur",
        help="Share of the training images that are blurred.",
        advanced=True,
        group="Colour and focus",
        ge=0.0,
        le=1.0,
    )
    blur_sigma: float = setting(
        2.0,
        title="Strongest blur",
        help="Each blur has a width drawn from 0.1 to this.",
        unit="px",
        advanced=True,
        group="Colour and focus",
        ge=0.1,
        le=20.0,
    )
    erasing: float = setting(
        0.0,
        title="Erasing",
        help="Share of the training images of which a random rectangle is covered with the mean colour.",
        advanced=True,
        group="Erasing and mixing",
        ge=0.0,
        le=1.0,
    )
    mixup_alpha: float = setting(
        0.0,
        title="MixUp",
        help="Blend each training image, and its target, with another one; the shares come from a beta distribution of this "
        "alpha. 0.2 is usual, 0 blends nothing. Every step reads twice as many images.",
        advanced=True,
        group="Erasing and mixing",
        ge=0.0,
        le=10.0,
    )
    cutmix_alpha: float = setting(
        0.0,
        title="CutMix",
        help="Paste a rectangle of another training image into each one, and mix the targets by area; its size comes from a "
        "beta distribution of this alpha. 1 is usual, 0 pastes nothing. Where images are blended, too, each gets one of the two.",
        advanced=True,
        group="Erasing and mixing",
        ge=0.0,
        le=10.0,
    )


class GivenSplitSection(PartsSection, ImageSection):
    """Pictures that may come with their own validation or test part."""


Sides = tuple[Annotated[int, Field(ge=8, le=4096)], ...]
"""Height and width in pixels, or one number for both."""


def size_with_masks() -> Any:
    """The setting of how large pictures with masks become, ``Sides``; a new one for each section that has it."""
    return setting(
        (),
        title="Image size",
        help="Height and width, for example 120, 160, or one number for a square; images are scaled and centre-cropped. "
        "Empty: their own size if all agree, else 128.",
        unit="px",
        placeholder="automatic",
        strict=False,
        max_length=2,
    )
