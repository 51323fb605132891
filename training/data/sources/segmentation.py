"""``segmentation``: images, and masks that say for each pixel what it shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config.sections.data.images import SegmentationDataset
from training.data.images.decode import MAX_BYTES, Unusable, open_image
from training.data.images.folder import Listing, show_path
from training.data.images.images import Images, Opened, choose_form, open_images
from training.data.images.mask_folder import list_pairs
from training.data.images.masks import ClassList, MaskForm, NoMask, indices, parse_classes, read_class_list
from training.data.source import Opening
from training.errors import InputError, LabelRangeError
from training.facts import IGNORED_PIXEL
from training.system.untrusted import open_file

CLASS_LIST = "classes.txt"
COLOR_TABLES = ("class_dict.csv", "label_colors.txt", "colors.txt", "labelmap.txt")
"""What lists the colors of masks where no index can be read from them."""
_PROBED = 64
_NO_LIST = "no class list"
_TWO_CLASSES = "masks are black and white: 0 is one class, 255 the other"
BLACK_AND_WHITE_NAMES = ("black", "white")
BLACK_AND_WHITE = ((0, 0, 0), (255, 255, 255))


@dataclass(frozen=True)
class Seen:
    """What masks without a class list hold: the ``values`` that stand for the classes, and int16 (N,) the ``highest`` of them in
    each mask, -1 where it has none or was not looked at. ``white``, bool (N,): which of them hold 255, where that may be a class."""

    values: tuple[int, ...]
    highest: NDArray[np.int16]
    white: NDArray[np.bool_]

    def select(self, rows: NDArray[np.int64]) -> Seen:
        return Seen(self.values, self.highest[rows], self.white[rows])


class Segmentation(Images):
    """Images with a class number for each pixel, one more channel behind the others."""

    def __init__(self, opened: Opened, classes: tuple[str, ...], told: str, seen: Seen | None, ignore: bool) -> None:
        """``seen`` where no list names the classes: ``fit`` leaves those of the training masks; ``ignore`` says what becomes of
        the pixels of others."""
        super().__init__(opened, classes, torch.zeros(len(opened.good), 0, dtype=torch.int64), told.encode())
        self.target = "mask"
        self._seen = None if seen is None else seen.select(opened.good)
        self._ignore = ignore
        self._black_and_white = False
        if "train" not in self.parts:
            raise InputError(
                f"{opened.listing.root} holds no training image that can be used{_first(opened.listing)}.",
                "Look at what is skipped, and at the class list.",
            )

    def fit(self, train: Tensor) -> Self:
        if self._seen is None:
            return self
        highest = self._seen.highest
        trained = int(highest[train.numpy()].max())
        beyond = np.flatnonzero(highest > trained)
        if len(beyond) and trained >= 0:  # else nothing can be learned, which is told with the reason
            two = trained == 0 and bool(self._seen.white[train.numpy()].any())
            count = 2 if two else sum(value <= trained for value in self._seen.values)
            if not self._ignore or count < 2:
                theirs = (
                    "the training masks are black and white, 0 and 255"
                    if two
                    else f"those of the training masks go up to {trained}"
                )
                raise LabelRangeError(
                    f"dataset.unknown: {self.name(int(beyond[0]))} is held out, and its mask holds the value "
                    f"{highest[beyond[0]]}; {theirs}.",
                    f"Correct that mask, list the classes in a text file (dataset.class_list, or {CLASS_LIST} in the folder)"
                    + (", or let such pixels be ignored." if count >= 2 else "."),
                    fix={"dataset.unknown": "ignore"} if count >= 2 else {},
                )
            if two:
                self._black_and_white, self.classes = True, BLACK_AND_WHITE_NAMES
                self.notes = (*(note for note in self.notes if not note.startswith(_NO_LIST)), _TWO_CLASSES)
                self.notes += ("values between 0 and 255 are ignored: no training mask has them",)
            else:
                self.classes = self.classes[:count]
                self.notes += (f"values above {trained} are ignored: no training mask has them",)
        return self

    def read(self, indices: Tensor) -> Tensor:
        return self._ignore_unknown(super().read(indices))

    def read_all(self) -> Tensor:
        stored = self._store is not None
        samples = super().read_all()
        return self._ignore_unknown(samples) if stored else samples  # else ``read`` has made them so

    def _ignore_unknown(self, samples: Tensor) -> Tensor:
        """``samples`` whose pixels of classes that ``fit`` took away are ignored; in place, once."""
        if self._black_and_white:  # decoded as indices, of which 255 stood for no class
            masks = samples[..., -1]
            white = masks == IGNORED_PIXEL
            masks.masked_fill_(masks > 0, IGNORED_PIXEL).masked_fill_(white, 1)
        elif self._seen is not None and len(self.classes) < len(self._seen.values):
            masks = samples[..., -1]
            masks.masked_fill_(masks >= len(self.classes), IGNORED_PIXEL)
        return samples


def open_segmentation(dataset: SegmentationDataset, opening: Opening) -> Segmentation:
    root = Path(dataset.path)
    listing = list_pairs(dataset, opening.report_progress)
    ignored, seen = dataset.ignore_index, None
    classes = find_class_list(dataset, root)
    if classes is None:
        classes, seen = _classes_in(listing, ignored, opening)
    mask = MaskForm.of(len(classes.names), classes.colors, ignored, dataset.unknown == "ignore")
    learned = tuple(name for index, name in enumerate(classes.names) if index != ignored)
    if not learned:
        raise InputError("dataset.ignore_index: it leaves no class to learn.", "Choose another index, or none.")
    if len(learned) < len(classes.names) and ignored is not None:
        listing.notes.append(f"{classes.names[ignored]} ({ignored}) is ignored")
    form = choose_form(listing, dataset.image_size, dataset.color, mask)
    opened = open_images(listing, form, opening)
    return Segmentation(opened, learned, f"{mask} {learned}", seen, dataset.unknown == "ignore")


def find_class_list(dataset: SegmentationDataset, root: Path) -> ClassList | None:
    """What the settings name, else what lies in the folder; None for nothing."""
    if dataset.class_names:
        return parse_classes(
            dataset.class_names, lambda number: f"dataset.class_names, number {number}", "dataset.class_names"
        )
    if dataset.class_list is not None:
        return read_class_list(Path(dataset.class_list))
    return read_class_list(root / CLASS_LIST) if (root / CLASS_LIST).is_file() else None


def _classes_in(listing: Listing, ignored: int | None, opening: Opening) -> tuple[ClassList, Seen | None]:
    """Without a class list: the indices in the masks of the folder that trains, every one of them, and a few for a preview,
    which cannot say what is seen. Which of those masks are held out is known later. Masks of black and white alone have two
    classes."""
    if listing.masks is None:
        raise ValueError("the listing has no masks")
    train = [row for row, owner in enumerate(listing.owners) if listing.groups[owner][0] == "train"]
    some = train if opening.check else train[:: max(1, len(train) // _PROBED)]
    values: set[int] = set()
    highest, white = np.full(len(listing.owners), -1, dtype=np.int16), np.zeros(len(listing.owners), dtype=np.bool_)
    for number, row in enumerate(some):
        if number % 64 == 0:
            opening.report_progress("looking for the classes in the masks", number / len(some))
        found = _values(listing.root / listing.masks.paths[row])
        values |= found
        highest[row] = max(found - {IGNORED_PIXEL, ignored}, default=-1)
        white[row] = ignored is None and IGNORED_PIXEL in found
    if values == {0, IGNORED_PIXEL} and ignored is None:
        listing.notes.append(_TWO_CLASSES)
        return ClassList(BLACK_AND_WHITE_NAMES, BLACK_AND_WHITE), None
    learned = values - {IGNORED_PIXEL, ignored}
    if not learned and (
        table := next((path for name in COLOR_TABLES if (path := listing.root / name).is_file()), None)
    ):
        listing.notes.append(f"classes by their colors in {table.name}")
        return read_class_list(table), None
    if not learned:
        raise InputError(
            f"{listing.root}: no mask of a training image can be read as indices.",
            f"Save masks as gray or palette PNG, or list the classes and their colors in {CLASS_LIST}.",
        )
    count = max(learned) + 1
    listing.notes.append(f"{_NO_LIST}: {count} classes by the indices in the training masks")
    names = tuple(str(number) for number in range(count))
    if len(some) < len(train):
        return ClassList(names), None
    return ClassList(names), Seen(tuple(number for number in range(count) if number != ignored), highest, white)


def _values(mask: Path) -> set[int]:
    """All indices that occur; a mask that cannot be read has none here, and is left out with a reason later."""
    try:
        with open_file(mask, MAX_BYTES) as stream, open_image(stream) as image:
            return set(np.unique(indices(image)).tolist())
    except (NoMask, Unusable, OSError, ValueError, SyntaxError):  # SyntaxError: Pillow's word for a broken PNG
        return set()


def _first(listing: Listing) -> str:
    skipped = listing.skipped
    return f" ({show_path(skipped[-1].path)}: {skipped[-1].reason})" if skipped else ""
