"""``image_folder``: images in class subfolders, as they come from a camera, a scraper or another program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from training.config.sections.data.classes import chosen_classes
from training.config.sections.data.dataset import ImageFolderDataset
from training.data.class_choice import Choice, ClassesRefused, choose_classes
from training.data.images.folder import Listing, image_suffixes, list_folder
from training.data.images.images import Images, choose_form, open_images
from training.data.source import Opening
from training.errors import InputError, LabelRangeError


def open_image_folder(dataset: ImageFolderDataset, opening: Opening, names: Sequence[str] = ()) -> Images:
    """``names`` are what the classes are called, in the order of their folders, where that is no folder's name."""
    listing = list_folder(Path(dataset.path), opening.report_progress, folders_elsewhere(dataset))
    if not listing.paths:
        _classes(listing, [], opening.least_classes)  # explains that there is nothing
    choice = None
    if chosen_classes(dataset):
        listing, choice = _keep_classes(listing, dataset, names)
    opened = open_images(listing, choose_form(listing, dataset.image_size, dataset.color), opening)
    folders = _classes(listing, np.unique(opened.owners).tolist(), opening.least_classes)
    class_of = _number_groups(listing, folders)[opened.owners]
    classes = tuple(names) if len(names) == len(folders) else folders
    if choice is None:
        return Images(opened, classes, torch.from_numpy(class_of))
    if len(folders) < len(choice.names):
        what = "an image of each class that is kept is needed to train on, and some have none that can be read."
        raise ClassesRefused(choice.choices, what, "Take those out, or mend their files.")
    source = Images(opened, choice.names, torch.from_numpy(class_of), repr(choice.names).encode())
    source.class_choices = choice.choices
    return source


def folders_elsewhere(dataset: ImageFolderDataset) -> dict[str, str]:
    """The folders of the parts that have one of their own."""
    named = {"validation": dataset.validation_path, "test": dataset.test_path}
    return {part: folder for part, folder in named.items() if folder}


def _number_groups(listing: Listing, classes: Sequence[str]) -> NDArray[np.int64]:
    """Of each group of the listing the number of its class, -1 where that is none of them."""
    numbers = {name: number for number, name in enumerate(classes)}
    return np.array([numbers.get(name, -1) for _, name in listing.groups], dtype=np.int64)


def _keep_classes(listing: Listing, dataset: ImageFolderDataset, names: Sequence[str]) -> tuple[Listing, Choice | None]:
    """The images of the classes that ``dataset`` keeps, before any is decoded."""
    owners = np.frombuffer(listing.owners, np.int32)
    filled = {listing.groups[owner] for owner in np.unique(owners).tolist()}
    folders = sorted(name for part, name in filled if part == "train")
    if not folders:
        return listing, None  # which is explained later
    class_of = _number_groups(listing, folders)[owners]
    known = np.flatnonzero(class_of >= 0)
    parts = {part: torch.zeros(0, dtype=torch.int64) for part in listing.parts()} | listing.parts(known)
    called = names if len(names) == len(folders) else folders
    choice = choose_classes(dataset, called, torch.from_numpy(class_of[known]), parts)
    return (listing, None) if choice is None else (listing.narrow(known[choice.samples].tolist(), choice.note), choice)


def _classes(listing: Listing, owners: list[int], least: int) -> tuple[str, ...]:
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
    if len(trained) < least:
        what = f"images of one class only ({trained[0]})" if trained else "no training image"
        raise InputError(
            f"{root} holds {what}; a classifier needs at least two classes, one subfolder each.",
            "If the class folders lie deeper, choose the folder right above them.",
        )
    foreign = sorted({name for part, name in filled if part != "train"} - set(trained))
    if foreign:
        raise LabelRangeError(
            f"{root}: {', '.join(foreign[:5])} in the validation or test part has no training images.",
            "Add some to the training part, or remove that folder.",
        )
    return tuple(trained)
