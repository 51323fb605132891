"""``ListedPictures``: pictures whose classes stand in lists of their makers."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import torch

from training.data.folder import Listing, look_up
from training.data.known.lists import Listed
from training.data.pictures import Opened, Pictures, choose_form, open_pictures
from training.data.source import Opening
from training.errors import InputError

_ADVICE = "Delete the set, and get it again."


class ListedPictures(Pictures):
    """The good ones of ``numbers``, the class of each picture of the listing."""

    def __init__(self, opened: Opened, classes: tuple[str, ...], numbers: list[int]) -> None:
        self.classes = classes
        self.targets = torch.tensor(numbers, dtype=torch.int64)[torch.from_numpy(opened.good)]
        self.parts = opened.parts()
        told = hashlib.sha256(repr((classes, list(self.parts))).encode())
        for each in (self.targets, *self.parts.values()):
            told.update(each.numpy().tobytes())
        super().__init__(opened, told.digest())
        if "train" not in self.parts or len(np.unique(self.targets[self.parts["train"]])) < 2:
            first = f" ({self.skipped[0].path}: {self.skipped[0].reason})" if self.skipped else ""
            raise InputError(f"{opened.listing.root} holds no pictures of two classes to train on{first}.", _ADVICE)


def open_listed(listed: Listed, place: Path, side: int | None, opening: Opening) -> ListedPictures:
    """``side`` of the square that each picture becomes; None as ``choose_form`` does."""
    opened, numbers = open_rows(listed, place, side, opening)
    return ListedPictures(opened, listed.classes, numbers)


def open_rows(listed: Listed, place: Path, side: int | None, opening: Opening) -> tuple[Opened, list[int]]:
    """The pictures that are there, and the number that each has in its row."""
    opening.report_progress("listing the pictures", None)
    parts = list(dict.fromkeys(part for part, _, _ in listed.rows))
    listing = Listing(place, groups=[(part, "") for part in parts])
    numbers: list[int] = []
    for part, number, path in listed.rows:
        reason, status = look_up(place, path)
        if status is None or reason:
            listing.skip(path, reason)
            continue
        listing.add(path, status)
        listing.owners[-1] = parts.index(part)
        numbers.append(number)
    size = None if side is None else (side, side)
    return open_pictures(listing, choose_form(listing, size, "rgb"), opening), numbers
