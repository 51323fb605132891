"""How images and their masks lie in a folder: where each part has them, found from names. Looks at folders and, in the head of lists, at
names alone; no torch here."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
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
MOST_ASKED = 20
"""Names of a list by which their folders are found."""
_FOLDER_ENDINGS = ("annot", "annotations", "labels", "label", "masks", "mask", "gt", "groundtruth")
"""What may follow the name of a folder of images in that of their masks: ``train`` and ``trainannot``, ``train_labels``."""
_LISTS = (".txt", ".csv", ".tsv", ".lst")
_MASK_WORD = re.compile("mask|label|annot|seg|(^|[^a-z])gt([^a-z]|$)")
_IMAGE_NAME = re.compile(r"(?i)\.(bmp|gif|jpe?g|pgm|png|ppm|tiff?|webp)$")
_IMAGE_ENDINGS = (".jpg", ".png", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".gif", ".ppm", ".pgm")
_LIST_FOLDERS = ("ImageSets/Segmentation", "")
_LOOKED_AT = 2000
_HEAD = 1 << 16
_ALIKE = 0.8


class Place(NamedTuple):
    """Where a ``part`` has its images and its masks, as the settings say it, relative to the folder: a folder, a pattern, or as
    ``images`` a list, of both with no ``masks``, or of names without folder and ending (VOC's). What lies elsewhere has an absolute
    path."""

    part: str
    images: str
    masks: str


def find_layout(root: Path, guess: bool = True) -> list[Place]:
    """The parts that ``root`` has, those that train first; none where no way to lay them out is known. With ``guess`` also two folders of
    the same names of files, one of which is called like one of masks. Raises OSError where ``root`` cannot be read."""
    folders = list_folders(root)
    ways = [_lists_of_names, _inner_folders, _twin_folders, _masks_beside, _lists, *([_alike_folders] if guess else [])]
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


def _lists_of_names(root: Path, folders: list[str]) -> Iterator[Place]:
    """train.txt, or VOC's ImageSets/Segmentation/train.txt, of the names of images in one folder and masks in another."""
    if not _pair_in(folders):
        return
    for folder in _LIST_FOLDERS:
        found = []
        for name in sorted(_names(root / folder)):
            stem, ending = os.path.splitext(name)  # noqa: PTH122
            if ending.lower() in _LISTS and stem.lower() in ROLES:
                listed = f"{folder}/{name}" if folder else name
                images, masks = find_folders(root, head_names(root / listed))
                found += [Place(ROLES[stem.lower()], listed, masks[0])] if len(images) == len(masks) == 1 else []
        if found:
            yield from found
            return


def find_folders(root: Path, names: Sequence[str], masks: str = "") -> tuple[list[str], list[str]]:
    """The folders, at most two levels below ``root``, that have images of most of ``names`` (without endings), and those that have
    masks of them; where several do, those that are called like it. ``masks`` are where the person says that they are."""
    above = list_folders(root)
    every = [*above, *(f"{folder}/{inner}" for folder in above for inner in list_folders(root / folder))]
    held = [folder for folder in every if folder != masks and _has_most(root / folder, names)]
    marked = [folder for folder in held if _MASK_WORD.search(Path(folder).name.lower())]
    images = _prefer([folder for folder in held if folder not in marked], IMAGE_FOLDERS)
    return images, [masks] if masks else _prefer(marked, MASK_FOLDERS)


def _prefer(folders: list[str], names: Collection[str]) -> list[str]:
    return [folder for folder in folders if Path(folder).name.lower() in names] or folders


def _has_most(folder: Path, names: Sequence[str]) -> bool:
    endings = [spelled for ending in _IMAGE_ENDINGS for spelled in (ending, ending.upper())]
    found = sum(any((folder / f"{name}{ending}").is_file() for ending in endings) for name in names)
    return bool(names) and found >= _ALIKE * len(names)


def head_names(path: Path) -> list[str]:
    """The first names of a list that has one a line; none where it is another list."""
    lines = _head_lines(path)[:MOST_ASKED]
    return [bare_name(line) for line in lines] if all(len(line.split()) == 1 for line in lines) else []


def bare_name(name: str) -> str:
    """Without the ending of an image."""
    return _IMAGE_NAME.sub("", name.replace("\\", "/").removeprefix("./"))


def _head_lines(path: Path) -> list[str]:
    """What is written in the first lines of a list, but for remarks."""
    try:
        with open_file(path, 1 << 40) as stream:
            head = stream.read(_HEAD)
    except OSError:
        return []
    lines = [line.strip() for line in head.decode("utf-8-sig", "replace").splitlines()]
    whole = lines if len(head) < _HEAD else lines[:-1]
    return [line for line in whole if line and not line.startswith("#")]


def _lists_pairs(path: Path) -> bool:
    lines = _head_lines(path)[:3]
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
