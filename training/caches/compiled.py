"""Compiled code: a folder for each version of torch and of the compiler, since torch takes what another version of g++ has made for the same."""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from training.system.places import cache_folder

_FOLDER = re.compile("[0-9a-f]{8}")
_CLEARED = re.compile(r"\.cleared-[0-9a-f]{8}")
_MONTH = 30 * 86400.0  # seconds


def home() -> Path:
    """Where those folders lie."""
    return cache_folder() / "compiled"


def remove_unused() -> None:
    """Delete those that nobody used for a month."""
    for folder in _list_folders():
        unused = abs(time.time() - folder.lstat().st_mtime)  # a clock that was wrong keeps nothing for ever
        if unused > _MONTH:
            shutil.rmtree(folder, ignore_errors=True)


def measure() -> int:
    """Bytes of all of them."""
    return sum(_size(folder) for folder in _list_folders())


def clear() -> None:
    """Delete all. A folder goes at once, by its name: who begins to compile meanwhile finds none, and makes it again."""
    for folder in _list_folders():
        away = folder if _CLEARED.fullmatch(folder.name) else folder.with_name(f".cleared-{token_hex(4)}")
        with suppress(OSError):  # Windows keeps the code that a process has loaded
            folder.rename(away)
            shutil.rmtree(away, ignore_errors=True)


def _list_folders() -> list[Path]:
    with suppress(OSError):
        return [
            folder
            for folder in home().iterdir()
            if (_FOLDER.fullmatch(folder.name) or _CLEARED.fullmatch(folder.name))
            and folder.is_dir()
            and not folder.is_symlink()
        ]
    return []


def _size(folder: Path) -> int:
    total = 0
    for at, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # removed meanwhile
                total += (Path(at) / name).lstat().st_size
    return total
