"""Folders of decoded images: which there are, and how one is emptied or removed."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from training.system.places import cache_folder

MANIFEST = "manifest.json"
LOCK = "lock"
_FOLDER = re.compile("[0-9a-f]{32}")
_PART = re.compile(r"(pixels|index)-[0-9a-f]{16}\.bin")
_LEFT = re.compile(r"\.(manifest\.json|index-[0-9a-f]{16}\.bin)\.[0-9a-f]{8}\.tmp")  # when write_bytes was killed


def usual_home() -> Path:
    """Where they lie unless ``loader.cache_folder`` says otherwise."""
    return cache_folder() / "pictures"


def list_caches(home: Path) -> list[tuple[Path, int, int]]:
    """Folder, when it was last used, and bytes of each cache in ``home``; what is no cache of ours is left alone."""
    found: list[tuple[Path, int, int]] = []
    with suppress(OSError), os.scandir(home) as entries:
        for entry in entries:
            folder = Path(entry.path)
            with suppress(OSError):
                ours = _FOLDER.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
                if ours and (names := _parts(folder)):
                    manifest = folder / MANIFEST
                    used = manifest.lstat().st_mtime_ns if manifest.exists() else 0
                    found.append((folder, used, sum((folder / name).lstat().st_size for name in names)))
    return found


def remove(folder: Path) -> bool:
    """Delete a cache, unless somebody is making it. Who still reads it keeps what is open."""
    if not _FOLDER.fullmatch(folder.name):
        return False
    try:
        with FileLock(folder / LOCK, timeout=0):
            empty(folder)
            if sys.platform != "win32":  # while it is held: afterwards it may be another's
                _remove_folder(folder)
    except (OSError, Timeout):
        return False
    if sys.platform == "win32":  # where no file goes that somebody has opened
        _remove_folder(folder)
    return True


def empty(folder: Path) -> None:
    """Delete what a cache consists of; the caller holds its lock."""
    with suppress(OSError):
        left = [path.name for path in folder.iterdir() if _LEFT.fullmatch(path.name)]
        for name in (MANIFEST, *_parts(folder), *left):
            with suppress(OSError):
                (folder / name).unlink(missing_ok=True)


def _remove_folder(folder: Path) -> None:
    with suppress(OSError):
        (folder / LOCK).unlink(missing_ok=True)
        folder.rmdir()


def _parts(folder: Path) -> list[str]:
    """The files of pixels and records in a cache folder; its name and theirs say that they are ours."""
    return [path.name for path in folder.iterdir() if _PART.fullmatch(path.name)]
