"""``image_folder``: images in class subfolders, as they come from a camera, a scraper or another program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from training.config.sections.data.dataset import ImageFolderDataset
from training.data.images.folder import Listing, image_suffixes, list_folder
from training.data.images.images import Images, choose_form, open_images
from training.data.source import Opening
from training.errors import InputError


def open_image_folder(dataset: ImageFolderDataset, opening: Opening) -> Images:
    listing = list_folder(Path(dataset.path), opening.report_progress)
    if not listing.paths:
        _classes(listing, [])  # explains that there is nothing
    opened = open_images(listing, choose_form(listing, dataset.image_size, dataset.color), opening)
    classes = _classes(listing, np.unique(opened.owners).tolist())
    numbers = {name: number for number, name in enumerate(classes)}
    class_of = np.array([numbers.get(name, -1) for _, name in listing.groups], dtype=np.int64)
    return Images(opened, classes, torch.from_numpy(class_of[opened.owners]))


def _classes(listing: Listing, owners: list[int]) -> tuple[str, ...]:
    """Names of the classes that have training images, sorted; raises InputError when they make no dataset.

    Nothing is learned from samples here: a person named the classes by making the folders, and of each class at least one
    image trains whatever the split.
    """
    filled = {listing.groups[owner] for owner in set(owners)}
    trained = sorted(name for part, name in filled if part == "train")
    root = listing.root
    if not filled:
        if any(path.is_file() and path.suffix.lower() in image_suffixes() for path in root.iterdir()):
            raise InputError(
                f"{root} holds images but no class folders.",
                "Put the images of each class into a subfolder named after it, or choose the folder right above.",
            )
        first = "".join(f"{skipped.path}: {skipped.reason}" for skipped in listing.skipped[:1])
        reasons = f" ({len(listing.skipped)} files skipped, first: {first})" if first else ""
        raise InputError(
            f"{root} holds no image that can be read{reasons}.", "Choose a folder with one subfolder per class."
        )
    if len(trained) < 2:
        what = f"images of one class only ({trained[0]})" if trained else "no training image"
        raise InputError(
            f"{root} holds {what}; a classifier needs at least two classes, one subfolder each.",
            "If the class folders lie deeper, choose the folder right above them.",
        )
    foreign = sorted({name for part, name in filled if part != "train"} - set(trained))
    if foreign:
        raise InputError(
            f"{root}: {', '.join(foreign[:5])} in the validation or test part has no training images.",
            "Add some to the training part, or remove that folder.",
        )
    return tuple(trained)
