"""``torchvision_segmentation``: datasets with masks that torchvision knows by name."""

from __future__ import annotations

from training.config.torchvision_sets import TorchvisionSegmentationDataset
from training.data.folder import Listing, look_up
from training.data.known import MASKED
from training.data.known.lists import MASK_LISTS, asked_for
from training.data.known.place import bring
from training.data.masks import UNKNOWN, MaskForm
from training.data.pictures import choose_form, open_pictures
from training.data.source import Opening
from training.data.sources.segmentation import Segmentation
from training.facts import IGNORED_PIXEL

_TRIMAP = MaskForm((UNKNOWN, 0, 1, IGNORED_PIXEL))
"""Of the pets: 1 is the animal, 2 what is behind it, 3 the outline, which is neither."""

_LEARNT = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33)
_STREETS = MaskForm(tuple(_LEARNT.index(label) if label in _LEARNT else IGNORED_PIXEL for label in range(34)))
"""Of Cityscapes: the labels that its makers judge by; the others are ignored."""


def mask_form(dataset: TorchvisionSegmentationDataset) -> MaskForm:
    """What the masks' values mean."""
    own = {"OxfordIIITPet": _TRIMAP, "Cityscapes": _STREETS}
    return own.get(dataset.name) or MaskForm.of(len(MASKED[dataset.name].classes))


def open_torchvision_masks(dataset: TorchvisionSegmentationDataset, opening: Opening) -> Segmentation:
    known = MASKED[dataset.name]
    place = bring(dataset, known, opening)
    opening.report_progress("listing the pictures", None)
    listing, masks = Listing(place), Listing(place)
    parts: list[str] = []
    pairs = MASK_LISTS[dataset.name]
    for part, picture, mask in pairs(place, **asked_for(pairs, dataset)):
        (reason, status), (missing, mask_status) = look_up(place, picture), look_up(place, mask)
        if status is None or mask_status is None or reason or missing:
            listing.skip(picture, reason or f"its mask {mask}: {missing}")
            continue
        if part not in parts:
            parts.append(part)
            listing.groups.append((part, ""))
        listing.add(picture, status)
        listing.owners[-1] = parts.index(part)
        masks.groups = listing.groups
        masks.add(mask, mask_status)
    listing.masks = masks
    form = mask_form(dataset)
    size = (dataset.image_size[0], dataset.image_size[-1]) if dataset.image_size else None
    opened = open_pictures(listing, choose_form(listing, size, "rgb", form), opening)
    return Segmentation(opened, known.classes, f"{form} {known.classes}", None, False)
