"""Whether anybody holds a lock, asked by those who only look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

_LOOK_SECONDS = 1.0  # of two that look together each holds the lock for a moment, and is no holder in the other's eyes
_POLL_SECONDS = 0.02


@contextmanager
def look_for_holder(path: Path) -> Iterator[bool]:
    """Whether a process holds the lock ``path``. Where none does, none can begin to inside.

    Raises OSError where the lock cannot be asked for: in a folder that cannot be written."""
    lock = FileLock(path)
    is_held = False
    try:
        lock.acquire(timeout=_LOOK_SECONDS, poll_interval=_POLL_SECONDS)
    except Timeout:
        is_held = True
    try:
        yield is_held
    finally:
        lock.release()
