"""``image_folder``: pictures in class subfolders, as they come from a camera, a scraper or another program."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config.dataset import ImageFolderDataset
from training.data.cache_room import note_use, remove
from training.data.decode import DifferentSize, Form, Outcome, outcome, own_size
from training.data.decoded import DAMAGED, Decoded, cache_for, decode_listing
from training.data.folder import Listing, list_folder, picture_suffixes, shown
from training.data.gpu_decode import GpuDecoder
from training.data.names import Names
from training.data.picture_cache import PictureCache
from training.data.resident import Notice
from training.data.source import Opening, Plain, Reading, Skipped
from training.data.workers import new_pixels
from training.errors import InputError, TrainingError
from training.facts import Layout

_PROBED = 64
_NOTED_EVERY = 600.0  # seconds: that a cache is still read from
_USUAL_SIZE = 128
_OWN_SIZES = range(8, 513)
"""Pictures that agree in size keep it only within this: photographs of twelve megapixels are no size to train at."""


class ImageFolder(Plain):
    """The good pictures of a folder: decoded ones while they are kept, else decoded whenever they are read."""

    layout: Layout = "image"

    def __init__(
        self,
        listing: Listing,
        form: Form,
        good: NDArray[np.int64],
        decoded: Decoded | None,
        cache: PictureCache | None = None,
        decoder: GpuDecoder | None = None,
    ) -> None:
        """``decoded`` is None when the files were not checked; some may be found in ``cache`` all the same. Whatever lies
        in neither ``decoder`` decodes, if given."""
        self.shape: tuple[int, ...] = form.shape
        self.skipped: tuple[Skipped, ...] = tuple(sorted(listing.skipped, key=lambda skipped: skipped.path))
        self.notes = (*listing.notes, _size_note(form))
        self.supply = "" if decoded is None else decoded.supply
        self.decoded_by = "" if decoder is None else decoder.told()  # until now: streaming decodes more of them
        self.root = listing.root
        self.paths = listing.paths if len(good) == len(listing.paths) else listing.paths.select(good)
        self.fingerprint = "" if decoded is None else _fingerprint(self.paths, decoded.contents[good])
        owners = np.frombuffer(listing.owners, np.int32)[good]
        self.classes = _classes(listing, np.unique(owners).tolist())
        numbers = {name: number for number, name in enumerate(self.classes)}
        class_of = np.array([numbers.get(name, -1) for _, name in listing.groups], dtype=np.int64)
        self.targets = torch.from_numpy(class_of[owners])
        self.parts = {
            part: torch.from_numpy(rows)
            for part in dict.fromkeys(part for part, _ in listing.groups)
            if len(rows := np.flatnonzero(np.array([part == of for of, _ in listing.groups])[owners]))
        }
        self._form = form
        self._store = None if decoded is None or decoded.store is None else _compact(decoded.store, good)
        self._digests = None if decoded is None else decoded.contents[good]
        self._rows = None if decoded is None else decoded.rows
        self._slots = np.full(len(good), -1) if decoded is None else decoded.slots[good]
        self._cache = cache
        self._decoder = decoder
        self._noted = time.monotonic()
        self._notices: deque[Notice] = deque()  # filled by one thread, emptied by another

    @property
    def reading(self) -> Reading:
        if self._store is not None:
            return "memory"
        return "files" if self._rows is None or (self._slots < 0).any() else "cache"

    def read(self, indices: Tensor) -> Tensor:
        """uint8 (n, H, W, C)."""
        if self._store is not None:
            return self._store[indices]
        shared = new_pixels((len(indices), *self._form.pixels))
        pictures = shared.numpy()
        numbers = indices.numpy()
        rows = self._not_cached(numbers, pictures)
        for row, became in zip(rows.tolist(), self._decoded(numbers[rows]), strict=True):
            index = int(numbers[row])
            if not isinstance(became, tuple):
                raise self._lost(index, str(became) or "has another size than before") from became
            pictures[row], digest = became
            if self._digests is not None and digest != self._digests[index].tobytes():
                raise self._lost(index, "its content has changed")
        return shared

    def _decoded(self, numbers: NDArray[np.int64]) -> Iterator[Outcome]:
        paths = (self.root / self.paths[number] for number in numbers.tolist())
        if self._decoder is not None:
            return self._decoder.decode(paths, self._form)
        return (outcome(path, self._form) for path in paths)

    def _not_cached(self, numbers: NDArray[np.int64], pictures: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Read what the cache has into ``pictures``; the positions of the others."""
        if self._cache is not None:
            return self._cache.glance(numbers, pictures)
        if self._rows is None:
            return np.arange(len(numbers))
        slots = self._slots[numbers]
        lost = self._rows.read(slots, pictures)
        if time.monotonic() - self._noted >= _NOTED_EVERY:  # else one that a run reads for days would seem unused
            self._noted = time.monotonic()
            note_use(self._rows.place.pixels.parent)
        if (slots[lost] >= 0).any():
            self._notices.append(DAMAGED)
            if self._rows.place.pixels.exists():  # else it is removed already, or somebody has made it anew
                remove(self._rows.place.pixels.parent)  # this run decodes what it cannot read
        return lost

    def take_notices(self) -> list[Notice]:
        return [self._notices.popleft() for _ in range(len(self._notices))]

    def _lost(self, index: int, reason: str) -> TrainingError:
        if not self.root.is_dir():
            return TrainingError(
                f"The folder of the pictures, {shown(str(self.root))}, is gone.",
                "Put it back, or reconnect its drive, and resume the run.",
            )
        return TrainingError(
            f"{shown(str(self.root / self.paths[index]))} is not the picture it was when the run began ({reason}).",
            "Put the file back as it was and resume the run, or start a new run with the files as they are.",
        )

    def name(self, index: int) -> str:
        return shown(self.paths[index])

    def take(self) -> Tensor:
        whole = self.read(torch.arange(len(self.paths))) if self._store is None else self._store
        self._store = None
        return whole

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_store": None, "_notices": deque()}


def open_image_folder(dataset: ImageFolderDataset, opening: Opening) -> ImageFolder:
    listing = list_folder(Path(dataset.path), opening.report_progress)
    channels = 3 if dataset.color == "rgb" else 1
    if not listing.paths:
        _classes(listing, [])  # explains that there is nothing
    form = _choose_form(listing, dataset.image_size, channels)
    if not opening.check:
        listing.notes.append("files are checked when training starts")
        return ImageFolder(listing, form, np.arange(len(listing.paths)), None, cache=cache_for(listing, form, opening))
    try:
        return _checked(listing, form, opening)
    except DifferentSize:
        return _checked(listing, Form(_USUAL_SIZE, _USUAL_SIZE, channels, fit=True), opening)


def _checked(listing: Listing, form: Form, opening: Opening) -> ImageFolder:
    """Decode every file once; what is good stays in memory if ``opening`` says so."""
    decoded = decode_listing(listing, form, opening)
    for row, reason in sorted(decoded.reasons.items()):
        listing.skip(listing.paths[row], reason)
    good = np.setdiff1d(np.arange(len(listing.paths)), np.fromiter(decoded.reasons, np.int64), assume_unique=True)
    return ImageFolder(listing, form, good, decoded, decoder=opening.decoder)


def _fingerprint(paths: Names, contents: NDArray[np.uint8]) -> str:
    """SHA-256 over paths and contents of the good files."""
    whole = hashlib.sha256()
    for number, content in enumerate(contents):
        whole.update(paths.raw(number).replace(b"\\", b"/") + b"\0" + content.tobytes())
    return whole.hexdigest()


def _compact(store: Tensor, good: NDArray[np.int64]) -> Tensor:
    """Close the gaps of broken files in place, so that a large store is never held twice."""
    rows = torch.from_numpy(good)
    first_gap = int((rows == torch.arange(len(rows))).sum())
    for start in range(first_gap, len(rows), 1024):
        some = rows[start : start + 1024]
        store[start : start + len(some)] = store[some]
    return store[: len(rows)]


def _choose_form(listing: Listing, image_size: int | None, channels: int) -> Form:
    if image_size is not None:
        return Form(image_size, image_size, channels, fit=True)
    step = max(1, len(listing.paths) // _PROBED)
    sizes = {own_size(listing.root / path) for path in listing.paths[::step]} - {None}
    if len(sizes) == 1:
        height, width = sizes.pop() or (0, 0)
        if height in _OWN_SIZES and width in _OWN_SIZES:
            return Form(height, width, channels, fit=False)
    return Form(_USUAL_SIZE, _USUAL_SIZE, channels, fit=True)


def _size_note(form: Form) -> str:
    size = f"{form.width} × {form.height} pixels"
    return f"pictures are scaled and centre-cropped to {size}" if form.fit else f"pictures keep their own size, {size}"


def _classes(listing: Listing, owners: list[int]) -> tuple[str, ...]:
    """Names of the classes that have training pictures, sorted; raises InputError when they make no dataset."""
    filled = {listing.groups[owner] for owner in set(owners)}
    trained = sorted(name for part, name in filled if part == "train")
    root = listing.root
    if not filled:
        if any(path.is_file() and path.suffix.lower() in picture_suffixes() for path in root.iterdir()):
            raise InputError(
                f"{root} holds pictures but no class folders.",
                "Put the pictures of each class into a subfolder named after it, or choose the folder right above.",
            )
        reasons = f" ({len(listing.skipped)} entries left out, first: {_first(listing)})" if listing.skipped else ""
        raise InputError(
            f"{root} holds no picture that can be read{reasons}.", "Choose a folder with one subfolder per class."
        )
    if len(trained) < 2:
        what = f"pictures of one class only ({trained[0]})" if trained else "no training picture"
        raise InputError(
            f"{root} holds {what}; a classifier needs at least two classes, one subfolder each.",
            "If the class folders lie deeper, choose the folder right above them.",
        )
    foreign = sorted({name for part, name in filled if part != "train"} - set(trained))
    if foreign:
        raise InputError(
            f"{root}: {', '.join(foreign[:5])} in the validation or test part has no training pictures.",
            "Add some to the training part, or remove that folder.",
        )
    return tuple(trained)


def _first(listing: Listing) -> str:
    return f"{listing.skipped[0].path}: {listing.skipped[0].reason}"
