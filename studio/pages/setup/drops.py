"""What a file or folder dropped on the page is. Looks at names only, and at a bounded number of them."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

IMAGE_SUFFIXES = frozenset([".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"])
_IDX_MARKS = ("idx1-ubyte", "idx3-ubyte")
_PARTS = frozenset({"train", "training", "val", "valid", "validation", "test"})
_MOST = 2000


def dataset_kind(folder: Path) -> str | None:
    """ "idx" for a folder of MNIST files, "image_folder" for one with class subfolders, None for any other.

    Raises OSError when the folder cannot be read.
    """
    files, folders = _content(folder)
    if any(mark in file.name for file in files for mark in _IDX_MARKS):
        return "idx"
    inner = [sub for sub in folders if sub.name.lower() in _PARTS]
    classes = folders if not inner else [sub for part in inner for sub in _content(part)[1]]
    return "image_folder" if any(_has_images(sub) for sub in classes[:50]) else None


def _content(folder: Path) -> tuple[list[Path], list[Path]]:
    with os.scandir(folder) as entries:
        visible = [entry for entry in islice(entries, _MOST) if not entry.name.startswith(".")]
    visible.sort(key=lambda entry: entry.name)
    return (
        [Path(entry.path) for entry in visible if entry.is_file()],
        [Path(entry.path) for entry in visible if entry.is_dir()],
    )


def _has_images(folder: Path) -> bool:
    try:
        return any(file.suffix.lower() in IMAGE_SUFFIXES for file in _content(folder)[0])
    except OSError:
        return False  # a folder without permission is no class; the others may be
