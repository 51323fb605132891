"""Sets that torchvision's own classes read: what they give, without an image being decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from training.data.sources.packed import Content, gather_parts
from training.data.torchvision_sets.list_files import Listed
from training.data.torchvision_sets.place import require_whole
from training.data.torchvision_sets.small import SMALL_IMAGES
from training.errors import InputError
from training.system.untrusted import escape_unprintable


def list_parts(name: str, place: Path, splits: dict[str, str], **options: Any) -> Listed:
    """The set ``name`` in ``place``; ``splits`` are torchvision's names of the parts with ours. Raises InputError."""
    listed = Listed()
    for split, part in splits.items():
        found = _open(name, place, split=split, **options)
        listed.classes = listed.classes or tuple(found.classes)
        try:
            if tuple(found.classes) != listed.classes:
                raise ValueError(f"{split} has other classes")
            for file, number in zip(found._image_files, found._labels, strict=True):
                listed.rows.append((part, number, Path(file).relative_to(place).as_posix()))
        except ValueError as error:
            raise _unfit(name, place, error) from error
    return listed


def read_usps(place: Path) -> Content:
    """Raises InputError, also for other files than the published ones: nothing bounds what torchvision unpacks."""
    for remote in SMALL_IMAGES["USPS"].files:
        require_whole(place / remote.name, remote)
    parts = {part: _open("USPS", place, train=part == "train") for part in ("train", "test")}
    return gather_parts({part: (each.data[..., None], np.array(each.targets)) for part, each in parts.items()})


def read_semeion(place: Path) -> Content:
    """Raises InputError; torchvision itself asks for the digest."""
    found = _open("SEMEION", place, download=False)
    return gather_parts({"train": (found.data[..., None], found.labels)})


def _open(name: str, place: Path, **options: Any) -> Any:
    from torchvision import datasets

    try:
        return getattr(datasets, name)(place, **options)
    except Exception as error:  # it raises anything on files that are not as they were published
        raise _unfit(name, place, error) from error


def _unfit(name: str, place: Path, error: Exception) -> InputError:
    why = escape_unprintable(f"{type(error).__name__}: {error}", 200)
    return InputError(f"{place} does not hold {name} as it was published ({why}).", "Delete the set, and get it again.")
