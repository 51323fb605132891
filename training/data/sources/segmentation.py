"""``segmentation``: pictures, and masks that say for each pixel what it shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from training.config.pictures import SegmentationDataset
from training.data.class_list import ClassList, read_class_list
from training.data.decode import MAX_BYTES, Unusable, open_picture
from training.data.folder import Listing, shown
from training.data.mask_folder import list_pairs
from training.data.masks import MaskForm, NoMask, indices
from training.data.pictures import Opened, Pictures, choose_form, open_pictures
from training.data.source import Opening, ReportProgress
from training.errors import InputError
from training.facts import IGNORED_PIXEL, Target
from training.reading import open_file

CLASS_LIST = "classes.txt"
_PROBED = 64
_BLACK_AND_WHITE = ((0, 0, 0), (255, 255, 255))


class Segmentation(Pictures):
    """Pictures with a class number for each pixel, one more channel behind the others."""

    target: Target = "mask"

    def __init__(self, opened: Opened, classes: tuple[str, ...], told: str) -> None:
        super().__init__(opened, told.encode())
        self.classes = classes
        self.targets = torch.zeros(len(opened.good), 0, dtype=torch.int64)
        self.parts: dict[str, Tensor] = opened.parts()
        if "train" not in self.parts:
            raise InputError(
                f"{opened.listing.root} holds no training image that can be used{_first(opened.listing)}.",
                "Look at what is left out, and at the class list.",
            )


def open_segmentation(dataset: SegmentationDataset, opening: Opening) -> Segmentation:
    root = Path(dataset.path)
    listing = list_pairs(root, opening.report_progress)
    classes = _class_list(dataset, root) or _classes_in(listing, dataset.ignore_index, opening)
    ignored = dataset.ignore_index
    mask = MaskForm.of(len(classes.names), classes.colors, ignored, dataset.unknown == "ignore")
    learnt = tuple(name for index, name in enumerate(classes.names) if index != ignored)
    if not learnt:
        raise InputError("dataset.ignore_index: it leaves no class to learn.", "Choose another index, or none.")
    if len(learnt) < len(classes.names) and ignored is not None:
        listing.notes.append(f"{classes.names[ignored]} ({ignored}) is ignored")
    size = (dataset.image_size[0], dataset.image_size[-1]) if dataset.image_size else None
    form = choose_form(listing, size, dataset.color, mask)
    return Segmentation(open_pictures(listing, form, opening), learnt, f"{mask} {learnt}")


def _class_list(dataset: SegmentationDataset, root: Path) -> ClassList | None:
    """What the settings name, else what lies in the folder; None for nothing."""
    if dataset.class_list is not None:
        return read_class_list(Path(dataset.class_list))
    return read_class_list(root / CLASS_LIST) if (root / CLASS_LIST).is_file() else None


def _classes_in(listing: Listing, ignored: int | None, opening: Opening) -> ClassList:
    """Without a class list: the indices in the training masks, every one of them, and a few for a preview. Masks of black
    and white alone have two classes."""
    if listing.masks is None:
        raise ValueError("the listing has no masks")
    train = [row for row, owner in enumerate(listing.owners) if listing.groups[owner][0] == "train"]
    some = train if opening.check else train[:: max(1, len(train) // _PROBED)]
    values = _values([listing.root / listing.masks.paths[row] for row in some], opening.report_progress)
    if values == {0, 255} and ignored is None:
        listing.notes.append("masks are black and white: 0 is one class, 255 the other")
        return ClassList(("black", "white"), _BLACK_AND_WHITE)
    learnt = values - {IGNORED_PIXEL, ignored}
    if not learnt:
        raise InputError(
            f"{listing.root}: no mask of a training image can be read as indices.",
            f"Save masks as grey or palette PNG, or list the classes and their colours in {CLASS_LIST}.",
        )
    count = max(learnt) + 1
    listing.notes.append(f"no class list: {count} classes by the indices in the training masks")
    return ClassList(tuple(str(number) for number in range(count)))


def _values(masks: list[Path], report_progress: ReportProgress) -> set[int]:
    """All indices that occur; a mask that cannot be read has none here, and is left out with a reason later."""
    found: set[int] = set()
    for number, path in enumerate(masks):
        if number % 64 == 0:
            report_progress("looking for the classes in the masks", number / len(masks))
        try:
            with open_file(path, MAX_BYTES) as stream, open_picture(stream) as image:
                found.update(np.unique(indices(image)).tolist())
        except (NoMask, Unusable, OSError, ValueError, SyntaxError):  # SyntaxError: Pillow's word for a broken PNG
            continue
    return found


def _first(listing: Listing) -> str:
    skipped = listing.skipped
    return f" ({shown(skipped[-1].path)}: {skipped[-1].reason})" if skipped else ""
