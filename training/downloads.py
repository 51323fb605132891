"""Files fetched from the internet by pooch: whole and checked, or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from training.errors import format_bytes

ReportProgress = Callable[[str, float | None], None]

_TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 1 << 20
_REPORTED_EVERY = 0.2  # seconds


def fetch(
    url: str,
    path: Path,
    name: str,
    report_progress: ReportProgress,
    digest: str | None = None,
    require_room: Callable[[int], None] = lambda size: None,
) -> None:
    """Fetch what ``url`` gives into ``path``; ``name`` is what progress calls it, ``digest`` is "sha256:..." or "md5:...".

    ``require_room(size)`` is asked before the first byte is written, where the server tells the size. Raises OSError when
    the file cannot be had or breaks off, ValueError when it has another digest.
    """
    import pooch  # with requests, which runs that fetch nothing need not load

    progress = _Progress(name, report_progress, require_room)
    fetch_once = pooch.HTTPDownloader(progress, _CHUNK, timeout=_TIMEOUT, headers={"Accept-Encoding": "identity"})

    def fetch_all(url: str, file: str, cache: Any) -> None:
        fetch_once(url, file, cache)
        size = Path(file).stat().st_size
        if size < progress.total:
            raise ConnectionError(f"it broke off after {format_bytes(size)} of {format_bytes(progress.total)}")

    pooch.get_logger().setLevel("WARNING")
    pooch.retrieve(url, digest, path.name, path.parent, downloader=fetch_all)


def explain(error: Exception) -> str:
    """Why ``fetch`` failed, in few words: the innermost reason of those that requests wraps around each other."""
    while (inner := error.__cause__ or error.__context__) and isinstance(inner, Exception):
        error = inner
    return getattr(error, "strerror", None) or str(error)


class _Progress:
    """What pooch takes for a progress bar."""

    def __init__(self, name: str, report_progress: ReportProgress, require_room: Callable[[int], None]) -> None:
        self._name = name
        self._report_progress = report_progress
        self._require_room = require_room
        self._total = self._done = 0
        self._reported = 0.0

    @property
    def total(self) -> int:
        """Bytes; 0 where the server does not tell."""
        return self._total

    @total.setter
    def total(self, size: int) -> None:
        self._require_room(size)
        self._total = size

    def update(self, count: int) -> None:
        """``count`` is what a chunk may hold, not always what it holds."""
        self._done = min(self._done + count, self._total or self._done + count)
        whole = self._done == self._total
        if whole or time.monotonic() - self._reported > _REPORTED_EVERY:
            self._reported = time.monotonic()
            of = f" of {format_bytes(self._total)}" if self._total else ""
            share = self._done / self._total if self._total else None
            self._report_progress(f"downloading {self._name}: {format_bytes(self._done)}{of}", share)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        """Nothing is open."""
