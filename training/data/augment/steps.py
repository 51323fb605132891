"""Which operations ``[dataset]`` asks for, in their order, with what they are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.image_section import ImageSection
from training.data.augment.auto import rand_augment, trivial_augment_wide
from training.data.augment.erasing import erase
from training.data.augment.geometry import deform, turn
from training.data.augment.jitter import blur, jitter_color, turn_gray
from training.data.augment.shift import shift_and_flip, shift_and_flip_zero_padded


class Step(NamedTuple):
    """``function(images, draws, **arguments)``. ``arguments`` maps each of its names to the setting that decides it.

    ``takes`` says what it works on: "pixels" moves whole ones, whatever they hold; "geometry" moves a mask, too; "colors"
    wants bytes and no mask; "inputs" are what the model gets, normalized.
    """

    function: Callable[..., Tensor]
    arguments: dict[str, str]
    takes: str

    def settings(self, config: DatasetSection) -> dict[str, Any]:
        """The arguments with their values."""
        return {name: getattr(config, setting) for name, setting in self.arguments.items()}


_SHIFT = {"padding": "crop_padding", "flip": "flip", "vertical_flip": "vertical_flip"}
_DEFORM = {
    "crop_scale": "resized_crop_scale",
    "crop_ratio": "resized_crop_ratio",
    "degrees": "rotation",
    "translate": "translate",
    "scale": "affine_scale",
    "shear": "shear",
    "distortion": "perspective",
}
_RAND = {"num_ops": "rand_augment_num_ops", "magnitude": "rand_augment_magnitude"}
_PADDING = {"padding_mode": "padding_mode"}


def steps(config: DatasetSection, mask: bool) -> list[Step]:
    """What is done to an image, first to last; as torchvision's recipes order it. Nothing where nothing is asked for."""
    if not isinstance(config, ImageSection):
        return []
    found: list[Step] = []
    if config.flip or config.vertical_flip or config.crop_padding:
        black = config.crop_padding and config.padding_mode == "zeros"
        found.append(
            Step(shift_and_flip_zero_padded, _SHIFT, "geometry") if black else Step(shift_and_flip, _SHIFT, "pixels")
        )
    deformed = config.resized_crop_scale < 1.0 or any(
        (config.translate, config.affine_scale, config.shear, config.perspective)
    )
    if config.rotation and not deformed and not mask and config.padding_mode == "reflection":
        found.append(Step(turn, {"degrees": "rotation"}, "geometry"))
    elif deformed or config.rotation:
        found.append(Step(deform, _DEFORM | _PADDING, "geometry"))
    if config.auto_augment == "rand_augment":
        found.append(Step(rand_augment, _RAND | _PADDING, "bytes"))
    elif config.auto_augment == "trivial_augment_wide":
        found.append(Step(trivial_augment_wide, _PADDING, "bytes"))
    if config.brightness or config.contrast or config.saturation or config.hue:
        found.append(
            Step(jitter_color, {name: name for name in ("brightness", "contrast", "saturation", "hue")}, "colors")
        )
    if config.grayscale:
        found.append(Step(turn_gray, {"probability": "grayscale"}, "colors"))
    if config.blur:
        found.append(Step(blur, {"probability": "blur", "sigma": "blur_sigma"}, "colors"))
    if config.erasing:
        found.append(Step(erase, {"probability": "erasing"}, "inputs"))
    return found
