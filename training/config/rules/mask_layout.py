"""How images and their masks lie in a folder: where each part has them, found from names. Looks at folders and, in the head of lists, at
names alone; no torch here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from training.config.sections.data.images import IMAGE_FOLDERS, MASK_FOLDERS
from training.system.untrusted import open_file

ROLES = {
    "train": "train",
    "training": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
    "testing": "test",
}
"""What folders and columns call the parts of a dataset, lower case."""
MASK_ENDINGS = ("_mask", "_masks", "_label", "_labels", "_gt", "_l", "-mask")
"""What may follow an image's name in that of its mask."""
SETTINGS = {
    "train": ("train_images", "train_masks"),
    "validation": ("validation_images", "validation_masks"),
    "test": ("test_images", "test_masks"),
}
"""The settings that say where the images and the masks of each part are."""
_FOLDER_ENDINGS = ("annot", "annotations", "labels", "label", "masks", "mask", "gt", "groundtruth")
"""What may follow the name of a folder of images in that of their masks: ``train`` and ``trainannot``, ``train_labels``."""
_LISTS = (".txt", ".csv", ".tsv", ".lst")
_MASK_WORD = re.compile("mask|label|annot|seg|(^|[^a-z])gt([^a-z]|$)")
_IMAGE_NAME = re.compile(r"(?i)\.(bmp|gif|jpe?g|pgm|png|ppm|tiff?|webp)$")
_LOOKED_AT = 2000
_HEAD = 1 << 16
_ALIKE = 0.8


class Place(NamedTuple):
    """Where a ``part`` has its images and its masks, as the settings say it, relative to the folder: a folder, a pattern, or a list
    of both with no ``masks``."""

    part: str
    images: str
    masks: str


def find_layout(root: Path, guess: bool = True) -> list[Place]:
    """The parts that ``root`` has, those that train first; none where no way to lay them out is known. With ``guess`` also two folders of
    the same names of files, one of which is called like one of masks. Raises OSError where ``root`` cannot be read."""
    folders = list_folders(root)
    ways = [_inner_folders, _twin_folders, _masks_beside, _lists, *([_alike_folders] if guess else [])]
    for find in ways:
        found = list(find(root, folders))
        if any(place.part == "train" for place in found):
            return sorted(found, key=lambda place: [*SETTINGS].index(place.part))
    return []


def layout_settings(places: list[Place]) -> dict[str, str]:
    """What the settings of ``[dataset]`` are to be for ``places``; "" of those that are not needed."""
    found = dict.fromkeys((name for pair in SETTINGS.values() for name in pair), "")
    for place in places:
        found |= dict(zip(SETTINGS[place.part], (place.images, place.masks), strict=True))
    return found


def masks_of(root: Path, images: str) -> str:
    """Where the masks of the folder ``images`` are, by the ways that are known; "" where none fits."""
    twin = _twin(list_folders((root / images).parent), Path(images).name)
    if twin:
        return Path(images).with_name(twin).as_posix()
    return _ending_beside(root / images)


def list_folders(folder: Path) -> list[str]:
    """The names of the folders in ``folder``, sorted. Raises OSError."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith((".", "__")))


def _inner_folders(root: Path, folders: list[str]) -> Iterator[Place]:
    """train/images and train/masks, images/train and masks/train, or just images and masks."""
    pair = _pair_in(folders)
    if pair:
        images, masks = pair
        inner = [part for part in list_folders(root / images) if part.lower() in ROLES]
        if inner and all((root / masks / part).is_dir() for part in inner):
            for part in inner:
                yield Place(ROLES[part.lower()], f"{images}/{part}", f"{masks}/{part}")
        else:
            yield Place("train", images, masks)
        return
    for name in folders:
        within = _pair_in(list_folders(root / name)) if name.lower() in ROLES else None
        if within:
            yield Place(ROLES[name.lower()], *(f"{name}/{folder}" for folder in within))


def _pair_in(folders: list[str]) -> tuple[str, str] | None:
    images = [name for name in folders if name.lower() in IMAGE_FOLDERS]
    masks = [name for name in folders if name.lower() in MASK_FOLDERS]
    return (images[0], masks[0]) if images and masks else None


def _twin_folders(root: Path, folders: list[str]) -> Iterator[Place]:
    """train and trainannot."""
    for name in folders:
        twin = _twin(folders, name) if name.lower() in ROLES else ""
        if twin and _stems(root / name):
            yield Place(ROLES[name.lower()], name, twin)


def _twin(folders: list[str], name: str) -> str:
    wanted = {name.lower() + between + ending for between in ("", "_", "-") for ending in _FOLDER_ENDINGS}
    return next((other for other in folders if other.lower() in wanted), "")


def _masks_beside(root: Path, folders: list[str]) -> Iterator[Place]:
    """001.jpg and 001_mask.png in one folder."""
    inner = [(name, _ending_beside(root / name)) for name in folders if name.lower() in ROLES]
    if any(pattern for _, pattern in inner):
        yield from (Place(ROLES[name.lower()], name, pattern) for name, pattern in inner if pattern)
    elif pattern := _ending_beside(root):
        yield Place("train", ".", pattern)


def _ending_beside(folder: Path) -> str:
    """``{name}_mask.png`` where most of the files that end so have an image beside them."""
    stems = _stems(folder)
    for ending in MASK_ENDINGS:
        masks = [stem for stem in stems if stem.lower().endswith(ending)]
        owned = [stem for stem in masks if stem[: -len(ending)] in stems]
        if owned and len(owned) >= _ALIKE * len(masks):
            return f"{{name}}{owned[0][-len(ending) :]}{stems[owned[0]]}"
    return ""


def _lists(root: Path, folders: list[str]) -> Iterator[Place]:
    """train.txt, whose lines have an image and its mask."""
    for name in _names(root):
        stem, ending = os.path.splitext(name)  # noqa: PTH122
        if ending.lower() in _LISTS and stem.lower() in ROLES and _lists_pairs(root / name):
            yield Place(ROLES[stem.lower()], name, "")


def _lists_pairs(path: Path) -> bool:
    try:
        with open_file(path, 1 << 40) as stream:
            lines = stream.read(_HEAD).decode("utf-8", "replace").splitlines()[:3]
    except OSError:
        return False
    return any(
        sum(bool(_IMAGE_NAME.search(word)) for word in re.split(r"[\s,;]+", line.strip())) == 2 for line in lines
    )


def _alike_folders(root: Path, folders: list[str]) -> Iterator[Place]:
    """Two folders whose files are called alike, one of which says that it holds masks."""
    marked = {name: bool(_MASK_WORD.search(name.lower())) for name in folders}
    stems: Mapping[str, Mapping[str, str]] = {name: _stems(root / name) for name in folders}
    pairs = [
        (images, masks)
        for masks in folders
        for images in folders
        if marked[masks] and not marked[images] and stems[images] and stems[masks]
        if len(stems[images].keys() & _bare(stems[masks])) >= _ALIKE * len(stems[images])
    ]
    if len(pairs) == 1:
        yield Place("train", *pairs[0])


def _bare(stems: Mapping[str, str]) -> set[str]:
    """``stems`` with and without what may follow an image's name."""
    found = set(stems)
    for ending in MASK_ENDINGS:
        found |= {stem[: -len(ending)] for stem in stems if stem.lower().endswith(ending)}
    return found


def _stems(folder: Path) -> dict[str, str]:
    """The names of the images right in ``folder``, without and with their endings: of a bounded number of them."""
    found = (os.path.splitext(name) for name in _names(folder) if _IMAGE_NAME.search(name))  # noqa: PTH122
    return dict(sorted(found))


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [
                entry.name
                for entry in islice(entries, _LOOKED_AT)
                if not entry.name.startswith(".") and entry.is_file()
            ]
    except OSError:
        return []
