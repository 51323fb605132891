"""How images are augmented, in the transforms of torchvision: the same operations, drawn by torch's own generator."""

from __future__ import annotations

from dataclasses import dataclass

from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.image_section import ImageSection

_BILINEAR = "interpolation=v2.InterpolationMode.BILINEAR"


@dataclass(frozen=True)
class AugmentationText:
    """``before``: what is done to bytes, first to last. ``after``: to what the network gets. ``mixing``: to a batch and its targets."""

    before: list[str]
    after: list[str]
    mixing: str

    def chain(self, sized: str) -> str:
        """The transforms of a training image, as a list, behind those that bring it to its size."""
        parts = [sized.removesuffix(", ")] * bool(sized) + ["*augment"] * bool(self.before) + ["*plain"] + self.after
        return "plain" if parts == ["*plain"] else f"[{', '.join(parts)}]"


def describe_augmentation(section: DatasetSection) -> AugmentationText:
    """For the templates."""
    if not isinstance(section, ImageSection):
        return AugmentationText([], [], "")
    return AugmentationText(
        [*_move(section), *_recolor(section)],
        [f"v2.RandomErasing({section.erasing}, scale=(0.02, 0.33))"] * bool(section.erasing),
        _mix(section),
    )


def _move(section: ImageSection) -> list[str]:
    fill = "reflect" if section.padding_mode == "reflection" else "constant"
    found = []
    if section.crop_padding:
        found.append(f'v2.RandomCrop(size, padding={section.crop_padding}, padding_mode="{fill}")')
    found += ["v2.RandomHorizontalFlip()"] * section.flip + ["v2.RandomVerticalFlip()"] * section.vertical_flip
    if section.resized_crop_scale < 1.0:
        ratio = section.resized_crop_ratio
        sizes = f"scale=({section.resized_crop_scale}, 1.0)"
        sizes += "" if abs(ratio - 4 / 3) < 1e-3 else f", ratio=({1 / ratio:.4f}, {ratio})"
        found.append(f"v2.RandomResizedCrop(size, {sizes})")
    others = []
    if section.translate:
        others.append(f"translate=({section.translate}, {section.translate})")
    if section.affine_scale:
        others.append(f"scale=({1 - section.affine_scale:g}, {1 + section.affine_scale:g})")
    if section.shear:
        others.append(f"shear={section.shear}")
    if others:
        found.append(f"v2.RandomAffine({section.rotation}, {', '.join(others)}, {_BILINEAR})")
    elif section.rotation:
        found.append(f"v2.RandomRotation({section.rotation}, {_BILINEAR})")
    return found + [f"v2.RandomPerspective({section.perspective}, 0.5)"] * bool(section.perspective)


def _recolor(section: ImageSection) -> list[str]:
    found = []
    if section.auto_augment == "rand_augment":
        found.append(f"v2.RandAugment({section.rand_augment_num_ops}, {section.rand_augment_magnitude})")
    found += ["v2.TrivialAugmentWide()"] * (section.auto_augment == "trivial_augment_wide")
    jitter = (section.brightness, section.contrast, section.saturation, section.hue)
    found += [f"v2.ColorJitter({', '.join(map(str, jitter))})"] * any(jitter)
    found += [f"v2.RandomGrayscale({section.grayscale})"] * bool(section.grayscale)
    if section.blur:
        side = 2 * round(3 * section.blur_sigma) + 1
        found.append(f"v2.RandomApply([v2.GaussianBlur({side}, (0.1, {section.blur_sigma}))], {section.blur})")
    return found


def _mix(section: ImageSection) -> str:
    mixes = [
        f"v2.{name}(alpha={alpha}, num_classes=outputs)"
        for name, alpha in (("MixUp", section.mixup_alpha), ("CutMix", section.cutmix_alpha))
        if alpha
    ]
    return f"v2.RandomChoice([{', '.join(mixes)}])" if len(mixes) > 1 else "".join(mixes)
