"""How training images are augmented."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from training.config.fields import Share, ShareAboveZero, advanced, setting
from training.config.sections.data.dataset_section import DatasetSection, PartsSection

_geometry = partial(advanced, group="Geometry")
_rand_augment = partial(advanced, group="RandAugment")
_color = partial(advanced, group="Color jitter & blur")
_mixing = partial(advanced, group="Erasing & mixing")

Jitter = Annotated[float, Field(ge=0.0, le=5.0)]


class ImageSection(DatasetSection):
    """Augmentation of the training images, drawn for each sample and epoch, by the names of torchvision's transforms."""

    layout = "image"
    called = "images"

    flip: bool = setting(
        False,
        "Horizontal flip",
        "Flip half of the images left to right (RandomHorizontalFlip). Wrong for digits and text.",
        also="mirror",
    )
    crop_padding: int = setting(
        0,
        "Random crop padding",
        "Pad each training image by this much and crop it back at a random place (RandomCrop: padding). 4 suits 32-pixel images.",
        also="shift",
        unit="px",
        ge=0,
        le=64,
    )
    rotation: float = setting(
        0.0,
        "Random rotation",
        "Rotate each training image by a random angle up to this many degrees either way (RandomRotation: degrees).",
        also="turn",
        unit="°",
        ge=0.0,
        le=180.0,
    )
    resized_crop_scale: ShareAboveZero = setting(
        1.0,
        "Random resized crop: min scale",
        "Crop a random part of each training image, at least this share of its area, and resize it to full size "
        "(RandomResizedCrop: scale). 0.08 suits ImageNet, 0.5 and more small images; 1 crops nothing.",
        also="smallest crop",
    )
    auto_augment: Literal["none", "rand_augment", "trivial_augment_wide"] = setting(
        "none",
        "Auto-augmentation",
        "A policy of random changes of color and geometry. RandAugment: a few of one magnitude. TrivialAugmentWide: one of "
        "any magnitude, nothing to tune.",
        also="automatic variation augmentation policy AutoAugment",
    )
    vertical_flip: bool = _geometry(
        False,
        "Vertical flip",
        "Flip half of the training images top to bottom (RandomVerticalFlip). For images without an up, as from above.",
        also="turn upside down mirror",
    )
    resized_crop_ratio: float = _geometry(
        1.3333,
        "Random resized crop: max aspect ratio",
        "Crops are up to this many times as wide as high, or as high as wide (RandomResizedCrop: ratio). Matters with a min "
        "scale below 1.",
        also="widest crop",
        ge=1.0,
        le=10.0,
    )
    translate: Share = _geometry(
        0.0, "Random affine: translate", "Move each by up to this share of its sides.", also="translation"
    )
    affine_scale: float = _geometry(
        0.0,
        "Random affine: scale",
        "Scale each training image by a factor drawn from 1 minus to 1 plus this (RandomAffine: scale); 0.2 draws from 0.8 "
        "to 1.2.",
        also="zoom",
        ge=0.0,
        le=0.9,
    )
    shear: float = _geometry(
        0.0,
        "Random affine: shear",
        "Shear each training image by up to this many degrees either way (RandomAffine: shear).",
        also="slant",
        unit="°",
        ge=0.0,
        le=80.0,
    )
    perspective: float = _geometry(
        0.0,
        "Random perspective: distortion scale",
        "Change the perspective of half of the training images (RandomPerspective: distortion_scale); the corners move by up "
        "to this share of half the side. torchvision uses 0.5.",
        ge=0.0,
        le=0.9,
    )
    padding_mode: Literal["reflection", "zeros"] = _geometry(
        "reflection",
        "Padding mode",
        "What fills the place when an image is moved or rotated. Reflect: its mirror image, so that edges are no feature to "
        "learn. Zeros: black.",
        also="outside fill",
        labels={"reflection": "Reflect"},
    )
    rand_augment_num_ops: int = _rand_augment(
        2, "RandAugment: num ops (N)", "Operations applied to each image (num_ops).", also="random changes", ge=1, le=10
    )
    rand_augment_magnitude: int = _rand_augment(
        9, "RandAugment: magnitude (M)", "How strong operations are; 30 at most.", also="change strength", ge=0, le=30
    )
    brightness: Jitter = _color(
        0.0, "Brightness", "Change each image's brightness by a factor from 1 minus to 1 plus this (ColorJitter)."
    )
    contrast: Jitter = _color(
        0.0, "Contrast", "Change each image's contrast by a factor from 1 minus to 1 plus this (ColorJitter)."
    )
    saturation: Jitter = _color(
        0.0,
        "Saturation",
        "Change the strength of the colors by a factor drawn from 1 minus to 1 plus this (ColorJitter: saturation). Nothing "
        "happens to grayscale images.",
    )
    hue: float = _color(
        0.0,
        "Hue",
        "Turn all colors around the color wheel by up to this share of it either way (ColorJitter: hue); 0.1 is a lot already. "
        "Nothing happens to grayscale images.",
        ge=0.0,
        le=0.5,
    )
    grayscale: Share = _color(
        0.0, "Random grayscale probability", "Share of the images without colors (p).", also="grey gray"
    )
    blur: Share = _color(
        0.0, "Gaussian blur probability", "Share of the training images that are blurred (GaussianBlur)."
    )
    blur_sigma: float = _color(
        2.0,
        "Gaussian blur: max sigma",
        "Each blur has a width drawn from 0.1 to this (GaussianBlur: sigma).",
        also="strongest blur",
        unit="px",
        ge=0.1,
        le=20.0,
    )
    erasing: Share = _mixing(
        0.0,
        "Random erasing probability",
        "Share of the images with a random rectangle erased to the mean color (RandomErasing: p).",
    )
    mixup_alpha: float = _mixing(
        0.0,
        "MixUp alpha",
        "Blend each training image, and its target, with another one; the shares come from a beta distribution of this alpha "
        "(MixUp: alpha). 0.2 is usual, 0 blends nothing. Every step reads twice as many images.",
        ge=0.0,
        le=10.0,
    )
    cutmix_alpha: float = _mixing(
        0.0,
        "CutMix alpha",
        "Paste a rectangle of another training image into each one, and mix the targets by area; its size comes from a beta "
        "distribution of this alpha (CutMix: alpha). 1 is usual, 0 pastes nothing. With MixUp, each image gets one of the two.",
        ge=0.0,
        le=10.0,
    )

    @property
    def is_augmented(self) -> bool:
        """Whether an image is ever shown otherwise than it is, by itself alone."""
        changes = (
            *(self.flip, self.vertical_flip, self.crop_padding, self.rotation, self.resized_crop_scale < 1.0),
            *(self.translate, self.affine_scale, self.shear, self.perspective, self.auto_augment != "none"),
            *(self.brightness, self.contrast, self.saturation, self.hue, self.grayscale, self.blur, self.erasing),
        )
        return any(changes)


class GivenSplitSection(PartsSection, ImageSection):
    """Images that may come with their own validation or test part."""


ImageSize = Annotated[
    int | None,
    setting(
        title="Image size",
        help="Images are resized and center-cropped to this square (Resize, CenterCrop). Empty: their own size if all agree, "
        "else 128.",
        unit="px",
        placeholder="automatic",
        ge=8,
        le=1024,
    ),
]

Sides = Annotated[
    tuple[Annotated[int, Field(ge=8, le=4096)], ...],
    setting(
        title="Image size",
        help="Height and width, for example 120, 160, or one number for a square; images are resized and center-cropped. "
        "Empty: their own size if all agree, else 128.",
        unit="px",
        placeholder="automatic",
        strict=False,
        max_length=2,
    ),
]
"""Height and width of images with masks, or one number for both."""
