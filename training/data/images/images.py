"""``Images``: what all kinds of data have in common whose images lie in files."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.caches.decoded import remove
from training.data.batching.resident import Notice
from training.data.batching.workers import new_pixels
from training.data.images.cache_room import note_use
from training.data.images.decode import DifferentSize, Form, Unusable, content_digest, outcome, own_size
from training.data.images.decoded import DAMAGED, Decoded, cache_for, decode_listing, is_quick
from training.data.images.files import Files
from training.data.images.folder import Listing, show_path
from training.data.images.image_cache import ImageCache
from training.data.images.masks import MaskForm
from training.data.source import Opening, Reading, Source
from training.errors import TrainingError

_PROBED = 64
_NOTED_EVERY = 600.0  # seconds: that a cache is still read from
_USUAL_SIZE = 128
_OWN_SIZES = range(8, 513)
"""Images that agree in size keep it only within this: photographs of twelve megapixels are no size to train at."""


@dataclass
class Opened:
    """A listing that was looked through. ``good`` are the rows that can be used."""

    listing: Listing
    form: Form
    good: NDArray[np.int64]
    decoded: Decoded | None = None
    """None when the files were not checked; some may be found in ``cache`` all the same."""
    cache: ImageCache | None = None
    preview: bool = False
    """Whether no run has begun: files may change as they like."""

    @property
    def owners(self) -> NDArray[np.int32]:
        """To which of the listing's groups each good image belongs."""
        return np.frombuffer(self.listing.owners, np.int32)[self.good]

    @cached_property
    def parts(self) -> dict[str, Tensor]:
        """The numbers of the good images of each part; a part without any is left out."""
        return self.listing.parts(self.good)


def open_images(listing: Listing, form: Form, opening: Opening) -> Opened:
    """Decode every file once, if that is wanted or takes moments; what is good stays in memory if ``opening`` says so. Images that do
    not agree in size after all are scaled."""
    if not opening.check and not is_quick(listing):
        listing.notes.append("files are checked when training starts")
        every = np.arange(len(listing.paths))
        return Opened(listing, form, every, cache=cache_for(listing, form, opening), preview=True)
    if not opening.check:
        opening = replace(opening, cache=None)  # a preview writes nothing
    try:
        decoded = decode_listing(listing, form, opening)
    except DifferentSize:
        form = Form(_USUAL_SIZE, _USUAL_SIZE, form.channels, fit=True, mask=form.mask)
        decoded = decode_listing(listing, form, opening)
    for row, reason in sorted(decoded.reasons.items()):
        listing.skip(listing.paths[row], reason)
    good = np.setdiff1d(np.arange(len(listing.paths)), np.fromiter(decoded.reasons, np.int64), assume_unique=True)
    return Opened(listing, form, good, decoded, preview=not opening.check)


def choose_form(
    listing: Listing, size: int | tuple[int, ...] | None, color: str = "rgb", mask: MaskForm | None = None
) -> Form:
    """Images scaled to ``size`` (a square's side, or height and width); without one they keep their own if all agree, as far
    as the headers of some tell, else they become squares of 128."""
    channels = 3 if color == "rgb" else 1
    if size:
        height, *_, width = (size, size) if isinstance(size, int) else (size[0], size[-1])
        return Form(height, width, channels, fit=True, mask=mask)
    step = max(1, len(listing.paths) // _PROBED)
    sizes = {own_size(listing.root / path) for path in listing.paths[::step]} - {None}
    if len(sizes) == 1:
        height, width = sizes.pop() or (0, 0)
        if height in _OWN_SIZES and width in _OWN_SIZES:
            return Form(height, width, channels, fit=False, mask=mask)
    return Form(_USUAL_SIZE, _USUAL_SIZE, channels, fit=True, mask=mask)


def digest_labels(opened: Opened, targets: Tensor, *names: object) -> bytes:
    """Of the targets and parts, and of ``names``, which a table or list tells."""
    told = hashlib.sha256(repr((*names, list(opened.parts))).encode())
    for each in (targets, *opened.parts.values()):
        told.update(each.numpy().tobytes())
    return told.digest()


class Images(Source):
    """The good images of a listing: decoded ones while they are kept, else decoded whenever they are read."""

    def __init__(self, opened: Opened, classes: tuple[str, ...], targets: Tensor, told: bytes = b"") -> None:
        """``targets`` are those of the good images, ``told`` is what is known of the samples beside their files, for the
        fingerprint."""
        listing, form, good, decoded = opened.listing, opened.form, opened.good, opened.decoded
        kept = "are scaled and center-cropped to" if form.fit else "keep their own size,"
        self._files = listing.files().select(good)
        super().__init__(
            layout="image",
            classes=classes,
            shape=form.shape,
            targets=targets,
            parts=opened.parts,
            skipped=tuple(sorted(listing.skipped, key=lambda skipped: skipped.path)),
            notes=(*listing.notes, f"images {kept} {form.width} × {form.height} pixels"),
            fingerprint="" if decoded is None else _fingerprint(self._files, decoded.contents[good], told),
            supply="" if decoded is None else decoded.supply,
        )
        self._form = form
        self._preview = opened.preview
        self._sizes = listing.bytes_each()[good]
        self._store = None if decoded is None or decoded.store is None else _compact(decoded.store, good)
        self.digests = None if decoded is None else decoded.contents[good]
        """uint8 (N, 32): the SHA-256 of each file; None when they were not checked."""
        self._rows = None if decoded is None else decoded.rows
        self._slots = np.full(len(good), -1) if decoded is None else decoded.slots[good]
        self._cache = opened.cache
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
        for row in rows.tolist():
            index = int(numbers[row])
            became = outcome(self._files[index], self._form)
            if not isinstance(became, tuple):
                raise self._explain_loss(index, str(became) or "has another size than before") from became
            pictures[row], digest = became
            if self.digests is not None and not self._preview and digest != self.digests[index].tobytes():
                raise self._explain_loss(index, "its content has changed")
        return shared

    def _not_cached(self, numbers: NDArray[np.int64], pictures: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Read what the cache has into ``images``; the positions of the others."""
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
            if self._rows.place.pixels.exists():  # else it is removed already, or somebody has made it again
                remove(self._rows.place.pixels.parent)  # this run decodes what it cannot read
        return lost

    def find_content(self, index: int) -> bytes:
        """The SHA-256 of a file as it is now; b"" where it cannot be read."""
        try:
            return content_digest(self._files[index])
        except Unusable:
            return b""

    def find_sizes(self) -> NDArray[np.int64]:
        """(N,): bytes of each file, with those of its mask, as they were listed."""
        return self._sizes

    def take_notices(self) -> list[Notice]:
        return [self._notices.popleft() for _ in range(len(self._notices))]

    def _explain_loss(self, index: int, reason: str) -> TrainingError:
        if self._preview:
            return TrainingError(f"{self.name(index)}: {reason}")
        if not self._files.root.is_dir():
            return TrainingError(
                f"The folder of the images, {show_path(str(self._files.root))}, is gone.",
                "Put it back, or reconnect its drive, and resume the run.",
            )
        return TrainingError(
            f"{show_path(str(self._files.root / self._files.paths[index]))} is not the image it was when the run began ({reason}).",
            "Put the file back as it was and resume the run, or start a new run with the files as they are.",
        )

    def name(self, index: int) -> str:
        return show_path(self._files.paths[index])

    def file_sizes(self, indices: Tensor) -> NDArray[np.float32]:
        """(n, 2): width and height that the files of the int64 (n,) ``indices`` have, upright, before they are scaled; NaN of one whose
        header cannot be read any more."""
        form = self._form
        if not form.fit:  # every file has this size, or it would not be here
            return np.full((len(indices), 2), (form.width, form.height), np.float32)
        found = (own_size(self._files.root / self._files.paths[index]) for index in indices.tolist())
        return np.array([(np.nan, np.nan) if size is None else size[::-1] for size in found], np.float32).reshape(-1, 2)

    def file(self, index: int) -> Path:
        """The file of the image itself."""
        return self._files.root / self._files.paths[index]

    def mask_name(self, index: int) -> str:
        """The file of the image's mask; "" where it has none."""
        return "" if self._files.masks is None else show_path(self._files.masks[index])

    def read_all(self) -> Tensor:
        whole = super().read_all() if self._store is None else self._store
        self._store = None
        return whole

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_store": None, "_notices": deque()}


def _fingerprint(files: Files, contents: NDArray[np.uint8], told: bytes) -> str:
    """SHA-256 over paths and contents of the good files, and what was told of them."""
    whole = hashlib.sha256(told)
    for number, content in enumerate(contents):
        whole.update(files.place(number) + b"\0" + content.tobytes())
    return whole.hexdigest()


def _compact(store: Tensor, good: NDArray[np.int64]) -> Tensor:
    """Close the gaps of broken files in place, so that a large store is never held twice."""
    rows = torch.from_numpy(good)
    first_gap = int((rows == torch.arange(len(rows))).sum())
    for start in range(first_gap, len(rows), 1024):
        some = rows[start : start + 1024]
        store[start : start + len(some)] = store[some]
    return store[: len(rows)]
