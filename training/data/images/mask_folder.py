"""Which mask belongs to which image of a folder; nothing is decoded here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePath

from training.config.sections.data.images import IMAGE_FOLDERS, MASK_FOLDERS
from training.core.readers.image_reading import SYSTEM_NAME
from training.data.images.folder import ROLES, Listing, list_tree, show_path
from training.data.source import ReportProgress
from training.errors import InputError

ENDINGS = ("_mask", "_masks", "_label", "_labels", "_gt", "_l", "-mask")
"""What may follow an image's name in that of its mask."""
_ADVICE = "Choose a folder with images and masks in it, or with train and val folders that each hold those two."
Key = tuple[str, str]


def list_pairs(root: Path, report_progress: ReportProgress) -> Listing:
    """The images that have a mask, in the order of their paths, with ``masks``. Raises InputError when there are none."""
    if not root.is_dir():
        raise InputError(f"dataset.path: {root} is not a folder.", _ADVICE)
    report_progress("listing the images", None)
    places = list(find_places(root))
    if not places:
        raise InputError(f"{root} holds no pair of folders images and masks.", _ADVICE)
    pictures, masks = Listing(root), Listing(root)
    for part, images_folder, masks_folder in places:
        list_tree(pictures, part, images_folder)
        list_tree(masks, part, masks_folder)
    folders = [(images_folder, masks_folder) for _, images_folder, masks_folder in places]
    paired = _pair_up(pictures, masks, folders)
    if not paired.paths:
        raise InputError(f"{root} holds no image with a mask of the same name{paired.first_skipped}.", _ADVICE)
    if all(part != "train" for part, _ in paired.groups):
        raise InputError(f"{root} has no folder train.", "Add one, or choose another folder.")
    if len(places) > 1:
        paired.notes.append(f"parts found: {', '.join(f'{part} in {show_path(images)}' for part, images, _ in places)}")
    return paired


def find_places(root: Path) -> Iterator[tuple[str, str, str]]:
    """(part, folder of images, folder of masks), relative to ``root``: train/images, images/train or just images."""
    pair = _pair_in(root, "")
    if pair:
        images, masks = pair
        inner = [part for part in _folders(root, images) if part.lower() in ROLES]
        if inner and all((root / masks / part).is_dir() for part in inner):
            for part in inner:
                yield ROLES[part.lower()], os.path.join(images, part), os.path.join(masks, part)  # noqa: PTH118
        else:
            yield "train", images, masks
        return
    for name in _folders(root, ""):
        within = _pair_in(root, name) if name.lower() in ROLES else None
        if within:
            yield ROLES[name.lower()], *within


def _pair_in(root: Path, folder: str) -> tuple[str, str] | None:
    found = {name.lower(): os.path.join(folder, name) for name in _folders(root, folder)}  # noqa: PTH118
    images = next((path for name, path in found.items() if name in IMAGE_FOLDERS), None)
    masks = next((path for name, path in found.items() if name in MASK_FOLDERS), None)
    return (images, masks) if images and masks else None


def _folders(root: Path, folder: str) -> list[str]:
    try:
        return sorted(
            path.name for path in (root / folder).iterdir() if path.is_dir() and not SYSTEM_NAME.fullmatch(path.name)
        )
    except OSError as error:
        raise InputError(f"{root / folder} cannot be read: {error.strerror or error}.", _ADVICE) from error


def _pair_up(pictures: Listing, masks: Listing, folders: list[tuple[str, str]]) -> Listing:
    """The images that have a mask; ``folders`` are those of each group."""
    rows: dict[tuple[int, Key], int] = {}
    skipped = [*pictures.skipped, *masks.skipped]
    for row, (path, owner) in enumerate(zip(masks.paths, masks.owners, strict=True)):
        key = owner, _key(path, folders[owner][1])
        if key in rows:
            masks.skip(path, f"a second mask beside {show_path(masks.paths[rows[key]])}")
        else:
            rows[key] = row
    of_image: list[tuple[int, int]] = []
    used: set[int] = set()
    for row, (path, owner) in enumerate(zip(pictures.paths, pictures.owners, strict=True)):
        mask = _mask_of(rows, owner, _key(path, folders[owner][0]))
        if mask is None:
            pictures.skip(path, f"has no mask of its name in {show_path(folders[owner][1])}")
        else:
            of_image.append((row, mask))
            used.add(mask)
    for mask in rows.values():
        if mask not in used:
            masks.skip(masks.paths[mask], "a mask without an image")
    paired = pictures.select(row for row, _ in of_image)
    paired.masks = masks.select(mask for _, mask in of_image)
    paired.skipped = list(dict.fromkeys([*skipped, *pictures.skipped, *masks.skipped]))
    return paired


def _key(path: str, folder: str) -> Key:
    """Where a file lies below its folder, and its name without the ending."""
    below = PurePath(path).relative_to(folder)
    return str(below.parent), below.stem


def _mask_of(rows: dict[tuple[int, Key], int], owner: int, key: Key) -> int | None:
    folder, stem = key
    for ending in ("", *ENDINGS):
        for candidate in dict.fromkeys((stem + ending, stem + ending.upper())):
            found = rows.get((owner, (folder, candidate)))
            if found is not None:
                return found
    return None
