"""Room for compiled code: what other versions of torch or of the compiler made, and nobody has used for long, makes way.

Beside each folder of compiled code nothing is written down: its own time says when it was last used. Who deletes holds a
lock, and deletes what was given another name before, so that a folder is there as a whole or not at all.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

from training.data.file_lock import FileLock

logger = logging.getLogger(__name__)

LIMIT = 4 * 10**9
"""Bytes of all folders together: a small network takes 5 MB, a ResNet on a GPU some hundreds."""

_LONG = 30 * 86400.0  # seconds after which a folder that nobody used goes
# Seconds after its last use in which somebody may still compile there; afterwards only a roll back reads it again.
_IN_USE = 3600.0
_DAY = 86400.0  # seconds between two looks: measuring many thousands of files takes a while
_LOCK = "lock"
_FOLDER = re.compile("[0-9a-f]{8}")
_GIVEN_UP = re.compile(r"[0-9a-f]{8}\.removed")


def note_use(folder: Path) -> None:
    """A folder that is in use makes way last, and not at all while code is compiled there."""
    with suppress(OSError):  # of which torch will tell
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)


def make_room(own: Path, limit: int = LIMIT) -> None:
    """Once a day, delete folders beside ``own`` that were not used for a month, and the longest unused ones beyond
    ``limit`` bytes; ``own`` as the last one, and before ``note_use``. What cannot be deleted stays, other files do, too."""
    home = own.parent
    try:
        if not _is_due(home):
            return
        with FileLock(home / _LOCK) as lock:
            if lock.taken:  # else another process is at it
                _remove_unused(home, own, limit)
                os.utime(home / _LOCK)
    except OSError as error:
        logger.info("Compiled code nobody uses could not be looked for: %s", error)


def _is_due(home: Path) -> bool:
    try:
        return abs(time.time() - (home / _LOCK).lstat().st_mtime) > _DAY
    except FileNotFoundError:
        return home.is_dir()


def _remove_unused(home: Path, own: Path, limit: int) -> None:
    for left in _folders(home, _GIVEN_UP):  # by a process that was killed while it deleted
        shutil.rmtree(left, ignore_errors=True)
    found = sorted((folder == own, folder.stat().st_mtime, folder) for folder in _folders(home, _FOLDER))
    sizes = {folder: _size(folder) for _, _, folder in found}
    total = sum(sizes.values())
    for is_own, used, folder in found:
        unused = abs(time.time() - used)  # a clock that was wrong keeps nothing for ever
        if total > limit or (unused > _LONG and not is_own):
            total -= sizes[folder] if _remove(folder) else 0


def _remove(folder: Path) -> bool:
    """Whether it is gone; not while it is in use."""
    given_up = folder.with_name(f"{folder.name}.removed")
    try:
        if abs(time.time() - folder.stat().st_mtime) < _IN_USE:
            return False
        folder.rename(given_up)
    except OSError as error:  # on Windows: what some process has loaded
        logger.info("%s stays: %s", folder, error)
        return False
    shutil.rmtree(given_up, ignore_errors=True)
    return True


def _folders(home: Path, name: re.Pattern[str]) -> list[Path]:
    with os.scandir(home) as entries:
        return [
            Path(entry.path) for entry in entries if name.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
        ]


def _size(folder: Path) -> int:
    """Bytes of the files in ``folder``, as far as they can be seen."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - many thousands
    return total
