"""Which runs compute with the caches now: each holds the lock of a file of its own, which the system lets go of when the process ends, however that is."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from filelock import FileLock

from training.system.locks import look_for_holder
from training.system.places import cache_folder

logger = logging.getLogger(__name__)

_DAY = 86400.0  # seconds


@contextmanager
def use_caches() -> Iterator[None]:
    """Let nobody clear them meanwhile. Where that cannot be told, in a home that cannot be written, work goes on: there is nothing to clear."""
    lock = FileLock(_folder() / f"{token_hex(8)}.lock")
    try:
        _folder().mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except (OSError, NotImplementedError) as error:  # some network drives lock nothing
        logger.info("It cannot be told that the caches are in use: %s", error)
    try:
        yield
    finally:
        lock.release()
        with suppress(OSError):
            Path(lock.lock_file).unlink(missing_ok=True)


def are_used() -> bool:
    """Whether one does, or that cannot be told."""
    for path in list(_folder().glob("*.lock")):
        try:
            with look_for_holder(path) as is_held:
                if is_held:
                    return True
        except FileNotFoundError:
            continue
        except (OSError, NotImplementedError):  # of another user, or on a drive that locks nothing: it cannot be told
            return True
        _forget(path)
    return False


def _forget(path: Path) -> None:
    """Delete what a killed process left, long after it: a new one is made before it is held."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime > _DAY:
            path.unlink()


def _folder() -> Path:
    return cache_folder() / "in_use"
