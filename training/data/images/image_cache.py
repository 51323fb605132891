"""``ImageCache``: what the images of a folder look like decoded, kept from run to run and shared by processes.

An image is known by the content of its file (SHA-256). Path, size and times only save reading it: a file that has them
as they were is taken for unchanged, as git's index does; any other is read, and decoded only if its content is new. So a
changed file is decoded again, also one whose size and date were put back: "times" are those of the content and of any change
to the file, which nobody can set back. Windows, and drives without a time of the latter kind (FAT, some of the network),
tell only the former; there a file that was changed without a trace in size and date is not noticed.

Nothing in here decides anything about a run: with it, without it, half made or damaged, the pixels are those that decoding
gives.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from training.caches.decoded import LOCK, empty, remove
from training.data.images.cache_folder import CacheFolder
from training.data.images.cache_room import CacheWish, NoRoom, make_private, make_room, note_use
from training.data.images.decode import Form
from training.data.images.folder import Listing
from training.data.images.image_file import (
    RECORD,
    Damaged,
    Place,
    Rows,
    Writer,
    read_records,
    rewrite_records,
    row_count,
)
from training.data.images.recognition import recognize
from training.data.source import ReportProgress

_SPARE = 4096  # rows: small folders may change as they like
_NO_WAIT = 256  # so few images are decoded sooner than another process is done
_STUCK = 20.0  # seconds without a new image: the other process hangs or is stopped
_BUSY = "another process is making the same cache"
_FINE_CLOCK, _COARSE_CLOCK = 50_000_000, 2_000_000_000  # nanoseconds: a tick of a file system's clock, at the most


class ImageCache:
    """The cache of one folder in one form. ``find``, then ``begin`` and ``append`` what is missing, then ``rows``."""

    def __init__(self, wish: CacheWish, listing: Listing, form: Form) -> None:
        self._wish = wish
        self._home = CacheFolder(wish.home, listing.root, form)
        self.folder = self._home.path
        self._shape = form.pixels
        self._listing = listing
        self._identities = np.zeros((0, 2), np.uint64)
        self._glancing: Rows | None = None
        there = max(listing.whole, len(listing.paths))  # other runs may want the classes that this one leaves out
        self._most = 2 * there + _SPARE  # rows; beyond, it holds more that is gone than what is there
        self._most_records = 2 * self._most
        self._place: Place | None = None
        self._records = np.zeros(0, RECORD)
        self._state: tuple[str, int] = ("", 0)
        self._added: list[NDArray[Any]] = []
        self._lock: FileLock | None = None
        self._writer: Writer | None = None
        self._made_here = False
        self.trouble = ""
        """Why it cannot be added to, a clause; "" while it can."""
        self.refused = False
        """Whether that is for lack of room, which the settings decide."""

    def find(self) -> NDArray[np.int64]:
        """Where each image of the listing lies, -1 where it does not."""
        self._identities = _identities(self._listing, range(len(self._listing.paths)))
        self._look()
        return self._match(self._identities)

    def recognize(self, rows: NDArray[np.int64], report_progress: ReportProgress) -> NDArray[np.int64]:
        """Where the images ``rows`` of the listing lie that ``find`` did not find, by the content of their files; -1 where
        they do not. The next ``find`` finds them."""
        slots = np.full(len(rows), -1, dtype=np.int64)
        same = recognize(self._records, self._listing, rows, report_progress)
        known = same >= 0
        slots[known] = self._records["row"][same[known]]
        known &= self._identities[rows].any(1)
        if self._lock is not None and self._place is not None and known.any():
            records = self._records[same[known]]
            records["identity"] = self._identities[rows[known]]
            try:
                self._writer = self._writer_for(self._place, len(records))
                self._writer.note(records)
                self._records = np.concatenate([self._records, records])
                self._state = self._home.state()
            except OSError as error:
                self._give_up(error)
        return slots

    def _writer_for(self, place: Place, needed: int) -> Writer:
        """One that may add ``needed`` records without there being more than is read again. Raises OSError."""
        if len(self._records) + needed > self._most_records:
            self._stop_writing()  # to the file that is replaced
            # Those worth keeping: the newest of each row, which tells its content, and those of the files as they are now.
            newest = len(self._records) - 1 - np.unique(self._records["row"][::-1], return_index=True)[1]
            current = self._matching(self._identities)
            self._records = rewrite_records(place, self._records[np.union1d(newest, current[current >= 0])])
        return self._writer or Writer(place, self._records)

    def glance(self, numbers: NDArray[np.int64], into: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The images ``numbers`` of the listing in ``into``, for a preview: the others are not even looked up. Returns
        the positions of those that are not there."""
        if self._glancing is None:
            self._look()
            self._glancing = self.rows() or Rows(self._home.at(""), np.zeros(0, np.uint32))
        return self._glancing.read(self._match(_identities(self._listing, numbers.tolist())), into)

    def _look(self) -> None:
        """See what is there now."""
        self._place, self._records = None, np.zeros(0, RECORD)
        self._state = self._home.state()  # before the records are read: what comes meanwhile is looked at again
        with suppress(OSError, ValueError, Damaged):
            place = self._home.place()
            self._records = read_records(place, self._most_records)
            self._place = place
            note_use(self.folder)

    def _match(self, identities: NDArray[np.uint64]) -> NDArray[np.int64]:
        matching = self._matching(identities)
        found = matching >= 0
        matching[found] = self._records["row"][matching[found]]
        return matching

    def _matching(self, identities: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The record of each, -1 where there is none."""
        records = np.full(len(identities), -1, dtype=np.int64)
        if not len(self._records):
            return records
        known = self._records["identity"]
        order = np.argsort(known[:, 0], kind="stable")
        spots = np.searchsorted(known[:, 0], identities[:, 0], sorter=order)
        candidates = order[np.minimum(spots, len(order) - 1)]
        same = (known[candidates] == identities).all(1) & identities.any(1)
        records[same] = candidates[same]
        return records

    def contents(self, slots: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The SHA-256 (n, 32) of the files."""
        record_of = np.zeros(row_count(self._records), np.int64)
        record_of[self._records["row"]] = np.arange(len(self._records))
        digests: NDArray[np.uint8] = self._records["content"][record_of[slots]]
        return digests

    def rows(self) -> Rows | None:
        """What reads the pixels, of all that was found and added; None when there is nothing."""
        records = [some for some in (self._records, *self._added) if len(some)]
        if self._place is None or not records:
            return None
        checksums = np.zeros(max(map(row_count, records)), np.uint32)
        for some in records:
            checksums[some["row"]] = some["pixels"]
        return Rows(self._place, checksums)

    def wait_for_turn(self, missing: int, report_progress: ReportProgress) -> bool:
        """Get the right to add, if need be after another process is done; whether to find again, since it has added."""
        self.trouble, self.refused = "", False
        since = time.monotonic()
        held = self._state
        while not self._lock_folder():
            if self.trouble:
                return False
            now = self._home.state()
            if now != held:
                held, since = now, time.monotonic()
            if missing <= _NO_WAIT or time.monotonic() - since > _STUCK:
                self.trouble, self.refused = _BUSY, True
                break
            share = min(1.0, held[1] // RECORD.itemsize / len(self._identities))
            report_progress("waiting for another run that decodes these images", share)
            time.sleep(0.2)
        # Also when it did not have to wait: rows that others added since must neither be overwritten nor thrown away.
        return self._home.state() != self._state

    def _lock_folder(self) -> bool:
        """Try to get the right to add; sets ``trouble`` where nobody can."""
        try:
            self._wish.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            if self.folder.is_symlink():
                raise OSError("the folder is a link")
            lock = FileLock(self.folder / LOCK, timeout=0)
            lock.acquire()
        except Timeout:
            return False
        except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
            self.trouble = f"{self.folder} cannot be written ({getattr(error, 'strerror', None) or error})"
            return False
        self._lock = lock
        try:
            make_private(self.folder)
        except OSError as error:
            self._give_up(error)
        return self._lock is not None

    def begin(self, needed: int) -> None:
        """Get ready to add ``needed`` images; sets ``trouble`` when that cannot be."""
        if self._lock is None:
            return
        row = int(np.prod(self._shape)) + RECORD.itemsize
        try:
            make_room(self._wish, self.folder, row_count(self._records) * row, needed * row)
            if self._place is None:
                self._place = self._home.make_anew()
                self._made_here = True
            self._writer = self._writer_for(self._place, needed)
        except NoRoom as error:
            self._stop_writing()  # it was open for what was known by content, which takes no room
            self.trouble, self.refused = str(error), True
        except OSError as error:
            self._give_up(error)

    def is_overfull(self, needed: int) -> bool:
        """Whether most of it belongs to images that are gone: begin a new one."""
        return row_count(self._records) + needed > self._most

    def append(
        self, rows: NDArray[np.int64], contents: NDArray[np.uint8], pixels: NDArray[np.uint8]
    ) -> NDArray[np.int64]:
        """Add the images ``rows`` of the listing; where they lie now, -1 if that was not possible (see ``trouble``)."""
        if self._writer is None:
            return np.full(len(rows), -1, dtype=np.int64)
        records = np.zeros(len(rows), RECORD)
        records["identity"], records["content"] = self._identities[rows], contents
        records["size"] = self._listing.bytes_each()[rows]
        try:
            self._added.append(self._writer.append(records, pixels))
        except OSError as error:
            self._give_up(error)
            return np.full(len(rows), -1, dtype=np.int64)
        return records["row"].astype(np.int64)

    def begin_anew(self) -> None:
        """Delete what was found, because it is damaged or mostly of images that are gone."""
        self._stop_writing()
        if self._lock is not None or self._lock_folder():
            if self._home.state() == self._state:
                empty(self.folder)
            else:  # somebody has just made it again, and may be reading it
                self.close()
        if self._lock is None and not self.trouble:
            self.trouble, self.refused = _BUSY, True
        self._forget()

    def _forget(self) -> None:
        self._place, self._records, self._added = None, np.zeros(0, RECORD), []

    def close(self) -> None:
        """Let others add."""
        self._stop_writing()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _stop_writing(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _give_up(self, error: OSError) -> None:
        self.trouble = f"{self.folder} cannot be written ({error.strerror or error})"
        self.close()
        if self._made_here:  # a full disk needs the room for checkpoints
            remove(self.folder)
            self._forget()


def _identities(listing: Listing, numbers: Sequence[int]) -> NDArray[np.uint64]:
    """(n, 2) for those ``numbers``: the digest of each file's path, size and times, and of its mask's. Zeros, which are
    never found, for a file so new that it may change once more without its times showing it: it is known by its content
    alone."""
    states = [_states(listing, numbers)]
    latest = _latest(listing, numbers)
    if listing.masks is not None:
        states.append(_states(listing.masks, numbers))
        latest = np.maximum(latest, _latest(listing.masks, numbers))
    blake = hashlib.blake2b
    text = b"".join(blake(b"\0".join(state), digest_size=16).digest() for state in zip(*states, strict=True))
    identities = np.frombuffer(text, "<u8").reshape(-1, 2).copy()
    tick = np.where(latest % 10**9, _FINE_CLOCK, _COARSE_CLOCK)
    identities[latest > listing.began - tick] = 0
    return identities


def _states(listing: Listing, numbers: Sequence[int]) -> Iterator[bytes]:
    sizes, modified, changed, paths = listing.sizes, listing.modified, listing.changed, listing.paths
    return (b"%s\0%d %d %d" % (os.fsencode(paths[at]), sizes[at], modified[at], changed[at]) for at in numbers)


def _latest(listing: Listing, numbers: Sequence[int]) -> NDArray[np.int64]:
    """When each file was changed last, in nanoseconds."""
    latest = np.frombuffer(listing.changed, np.int64)[numbers]
    if sys.platform == "win32":  # whose second time is that of the file's creation; elsewhere whoever dates a file
        latest = np.maximum(latest, np.frombuffer(listing.modified, np.int64)[numbers])  # changes it this very moment
    return latest
