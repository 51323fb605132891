"""Room for a cache of decoded images: the longest unused ones make way, and the disk is never filled to the brim."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from training.caches.decoded import MANIFEST, empty, list_caches, remove, usual_home
from training.config.sections.loader import Loader
from training.errors import format_bytes
from training.typed_paths import expand_known_home

_SPARE = 2 * 10**9  # left free on the disk: checkpoints need room, too


@dataclass(frozen=True)
class CacheWish:
    """``[loader]``'s say: in ``home`` lies one folder for each cache, of ``limit`` bytes all together."""

    mode: Literal["auto", "on"]
    home: Path
    limit: int


def cache_wish(loader: Loader) -> CacheWish | None:
    """What the settings ask for; None for no cache."""
    if loader.cache == "off":
        return None
    home = Path(loader.cache_folder) if loader.cache_folder else usual_home()
    return CacheWish(loader.cache, expand_known_home(home), int(loader.cache_limit_gb * 10**9))


class NoRoom(Exception):
    """The text is a clause that says why."""


def make_room(wish: CacheWish, own: Path, held: int, needed: int) -> None:
    """Remove caches nobody used for long until ``needed`` bytes more fit beside the ``held`` of ``own``. Raises NoRoom."""
    if held + needed > wish.limit:
        raise NoRoom(
            f"they take {format_bytes(held + needed)} decoded, and loader.cache_limit_gb allows {format_bytes(wish.limit)}"
        )
    others = sorted(
        (used, size, folder) for folder, used, size in list_caches(wish.home) if folder.resolve() != own.resolve()
    )
    total = held + needed + sum(size for _, size, _ in others)
    while others and (total > wish.limit or _free(wish.home) < needed + _SPARE):
        _, size, oldest = others.pop(0)
        if remove(oldest):
            total -= size
    if total > wish.limit:
        raise NoRoom("other caches are being made and fill the limit (loader.cache_limit_gb)")
    free = _free(wish.home)
    if free < needed + _SPARE:
        raise NoRoom(
            f"they take {format_bytes(needed)}, and the disk of {wish.home} has {format_bytes(free)} free, of which "
            f"{format_bytes(_SPARE)} are left for checkpoints"
        )


def is_private(folder: Path) -> bool:
    """Whether nobody but this person and the system's keeper can have put the images there: what lies in a cache is
    trained on. Raises OSError. Windows, where folders of a person are closed to others, is not asked."""
    if sys.platform == "win32":
        return True
    status = folder.lstat()
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def make_private(folder: Path) -> None:
    """Close it to others; what lay there goes. Raises OSError where that cannot be. The caller holds its lock."""
    if is_private(folder):
        return
    if sys.platform != "win32" and folder.lstat().st_uid != os.geteuid():
        raise OSError("it belongs to somebody else")
    folder.chmod(0o700)
    empty(folder)
    if not is_private(folder):
        raise OSError("everybody may write there, so images found there could be anybody's")


def note_use(folder: Path) -> None:
    """A cache that is in use makes way last."""
    with suppress(OSError):
        os.utime(folder / MANIFEST, follow_symlinks=os.utime not in os.supports_follow_symlinks)


def _free(home: Path) -> int:
    return shutil.disk_usage(home).free
