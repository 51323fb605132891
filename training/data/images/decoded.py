"""Every image of a folder decoded and checked once: out of the cache where it is in there, else now."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.data.batching.resident import Notice
from training.data.images.decode import Form
from training.data.images.decode_many import decode_many
from training.data.images.folder import Listing
from training.data.images.image_cache import ImageCache
from training.data.images.image_file import Rows
from training.data.images.pieces import Piece
from training.data.source import Opening

_MANY, _LARGE = 2000, 16 * 10**6
"""Images, bytes of their files: less needs no cache. 2,000 of CIFAR-10 are decoded in 0.5 s, 16 MB of photographs to 224
pixels in 0.2 s (3 MB each) to 0.6 s (47 kB each)."""
_AT_ONCE = 8 << 20  # bytes of pixels read from the cache at once

DAMAGED = Notice(
    "The cache of decoded images was damaged; it is made again, and no damaged image was used.",
    "If it happens again, have the disk checked.",
)


@dataclass
class Decoded:
    """What became of a listing's images, by their rows. ``store`` holds them if they stay in memory; ``rows`` reads
    those whose slot is not -1."""

    contents: NDArray[np.uint8]
    """(n, 32): the SHA-256 of each good file."""
    store: Tensor | None
    slots: NDArray[np.int64]
    rows: Rows | None = None
    reasons: dict[int, str] = field(default_factory=dict)
    """Why an image is left out."""
    supply: str = ""
    """Where the images came from, a clause for the person; "" when there is nothing to say."""


def decode_listing(listing: Listing, form: Form, opening: Opening) -> Decoded:
    """Raises DifferentSize when the images have not all the size of ``form``."""
    count = len(listing.paths)
    shape = (count, *form.pixels)
    store = torch.empty(shape, dtype=torch.uint8) if opening.keep(int(np.prod(shape))) else None
    decoded = Decoded(np.zeros((count, 32), np.uint8), store, np.full(count, -1, dtype=np.int64))
    cache = cache_for(listing, form, opening)
    if cache is None:
        _decode_missing(listing, form, opening, decoded, None)
        return decoded
    try:
        recognized = _take_what_is_there(cache, decoded, opening)
        missing = int((decoded.slots < 0).sum())
        _decode_missing(listing, form, opening, decoded, cache)
        decoded.rows = cache.rows()
        if decoded.rows is None:
            decoded.slots[:] = -1
        decoded.supply = _supply(cache, decoded, missing, recognized, opening)
    finally:
        cache.close()
    return decoded


def cache_for(listing: Listing, form: Form, opening: Opening) -> ImageCache | None:
    """None when there shall be none, or the images are too few to be worth one."""
    wish = opening.cache
    if wish is None or (wish.mode == "auto" and is_quick(listing)):
        return None
    return ImageCache(wish, listing, form)


def is_quick(listing: Listing) -> bool:
    """Whether the images are so few that decoding all of them takes moments."""
    return len(listing.paths) < _MANY and int(listing.bytes_each().sum()) < _LARGE


def _take_what_is_there(cache: ImageCache, decoded: Decoded, opening: Opening) -> int:
    """Find the images, get the right to add those that are missing, and load those that stay in memory; how many were
    found by the content of their files alone."""
    decoded.slots = cache.find()
    missing = int((decoded.slots < 0).sum())
    if missing and cache.wait_for_turn(missing, opening.report_progress):
        decoded.slots = cache.find()
    lost = np.flatnonzero(decoded.slots < 0)
    if len(lost):
        decoded.slots[lost] = cache.recognize(lost, opening.report_progress)
    recognized = int((decoded.slots[lost] >= 0).sum())
    overfull = cache.is_overfull(int((decoded.slots < 0).sum()))
    if not overfull and _load(cache, decoded, opening):
        had = decoded.slots >= 0
        decoded.contents[had] = cache.contents(decoded.slots[had])
        return recognized
    if not overfull:
        opening.tell(DAMAGED)
    decoded.slots[:] = -1
    cache.begin_anew()
    return 0


def _load(cache: ImageCache, decoded: Decoded, opening: Opening) -> bool:
    """Read what stays in memory, if anything does; False when an image is not what was written."""
    rows = cache.rows()
    if decoded.store is None or rows is None:
        return True
    store, slots = decoded.store.numpy(), decoded.slots
    step = max(1, _AT_ONCE // max(1, store[:1].nbytes))
    for first in range(0, len(slots), step):
        some = slots[first : first + step]
        if len(rows.read(some, store[first : first + step])) != int((some < 0).sum()):
            return False
        opening.report_progress("loading the decoded images", min(1.0, (first + step) / len(slots)))
    return True


def _decode_missing(listing: Listing, form: Form, opening: Opening, decoded: Decoded, cache: ImageCache | None) -> None:
    missing = np.flatnonzero(decoded.slots < 0)
    if not len(missing):
        return
    store = None if decoded.store is None else decoded.store.numpy()
    begun = False

    def add(first: int, piece: Piece) -> None:
        nonlocal begun
        rows = missing[first : first + len(piece.reasons)]
        good = np.array([not reason for reason in piece.reasons], dtype=np.bool_)
        decoded.reasons.update((int(row), reason) for row, reason in zip(rows, piece.reasons, strict=True) if reason)
        if not good.any():
            return
        contents = np.frombuffer(b"".join(piece.digests), np.uint8).reshape(-1, 32)
        decoded.contents[rows[good]] = contents
        if piece.pixels is None:
            return
        pixels = piece.pixels[: len(rows)]
        if store is not None:
            store[rows] = pixels
        if cache is not None:
            if not begun:  # not sooner: broken images alone are no reason to write
                begun = True
                cache.begin(len(missing) - first)
            decoded.slots[rows[good]] = cache.append(rows[good], contents, pixels[good])

    keep = store is not None or cache is not None
    decode_many(listing.files().select(missing), form, keep, opening, add)


def _supply(cache: ImageCache, decoded: Decoded, missing: int, recognized: int, opening: Opening) -> str:
    new = missing - len(decoded.reasons)
    count = len(decoded.slots) - len(decoded.reasons)
    others = (
        f"; of the others {recognized:,} {'was' if recognized == 1 else 'were'} known by content" if recognized else ""
    )
    if not new:
        return "they came decoded from the cache" + (f", {recognized:,} of them known by content" if recognized else "")
    if not cache.trouble:
        what = "they were decoded" if new == count else f"{new:,} of {count:,} were decoded"
        return f"{what} now and are kept in the cache for the next run{others}"
    if not cache.refused or (opening.cache and opening.cache.mode == "on" and new > missing // 2):
        opening.tell(
            Notice(
                f"The decoded images are not kept in a cache: {cache.trouble}.",
                "The run goes on and decodes them by itself. Choose another folder (loader.cache_folder), free some space, "
                "or turn the cache off (loader.cache = off).",
            )
        )
    return f"they are not kept in the cache: {cache.trouble}"
