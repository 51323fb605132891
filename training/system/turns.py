"""One process at a time, for those that start before any package is installed (filelock is one)."""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_POLL_SECONDS = 0.2
_TAKEN = errno.EAGAIN, errno.EACCES, errno.EDEADLK


@contextmanager
def take_turn(file: Path, tell: Callable[[], object]) -> Iterator[None]:
    """Inside, no other process has its turn; one that ends, however, gives its own back. ``tell`` is called before it waits.

    Raises OSError where ``file``, which stays, cannot be written."""
    with file.open("ab") as stream:
        if not _try_lock(stream):
            tell()
            while not _try_lock(stream):
                time.sleep(_POLL_SECONDS)
        yield  # closing the file gives the lock back


def _try_lock(stream: BinaryIO) -> bool:
    """Also True on a network drive without locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            stream.seek(0)
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _TAKEN
    return True
