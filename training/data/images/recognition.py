"""Files known again by what they hold, whatever they are called now and whenever they were written."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.data.images.decode import Unusable, content_digest
from training.data.images.folder import Listing
from training.data.source import ReportProgress, throttle
from training.errors import pluralize
from training.system.hardware import core_count

_THREADS = 8
_WORTH_THREADS = 1 << 16  # bytes of a file: smaller ones are hashed sooner than handed to a thread
_AT_ONCE = 256
_UNREADABLE = bytes(32)


def recognize(
    records: NDArray[Any], listing: Listing, rows: NDArray[np.int64], report_progress: ReportProgress
) -> NDArray[np.int64]:
    """The newest of ``records`` with the content of each file ``rows`` of the listing, -1 where there is none.

    Only files as long as a known one are read.
    """
    found = np.full(len(rows), -1, dtype=np.int64)
    if not len(records):
        return found
    sizes = listing.bytes_each()[rows]
    likely = np.flatnonzero(np.isin(sizes, records["size"]))
    if not len(likely):
        return found
    newest = {content.tobytes(): row for row, content in enumerate(records["content"])}
    digests = _digests(listing, rows[likely], sizes[likely], report_progress)
    found[likely] = [newest.get(digest, -1) for digest in digests]
    return found


def _digests(
    listing: Listing, rows: NDArray[np.int64], sizes: NDArray[np.int64], report_progress: ReportProgress
) -> Iterator[bytes]:
    """The SHA-256 of each file."""
    files = listing.files()

    def digest(row: int) -> bytes:
        try:
            return content_digest(files[row])
        except Unusable:  # whoever decodes it says why
            return _UNREADABLE

    numbers, report_progress = rows.tolist(), throttle(report_progress)
    with ThreadPoolExecutor(min(core_count(), _THREADS)) as pool:
        each = pool.map if sizes.mean() > _WORTH_THREADS else map
        for first in range(0, len(numbers), _AT_ONCE):
            what = f"comparing {first:,} of {pluralize(len(numbers), 'image')} with the cache"
            report_progress(what, first / len(numbers))
            yield from each(digest, numbers[first : first + _AT_ONCE])
