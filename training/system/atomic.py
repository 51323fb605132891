"""Files that appear whole or not at all: temporary sibling, fsync, rename, fsync of the folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from training.core.replace_file import replace_file


def write_bytes(path: Path, data: bytes, durable: bool = True) -> None:
    """Replace ``path`` by ``data``; a reader, or a start after a power cut, sees the old or the new file, never a part.

    ``durable=False`` leaves out the waiting for the disk, for files that are written often and can be made again.
    """
    write_stream(path, lambda stream: stream.write(data), durable)


def write_stream(path: Path, write: Callable[[BinaryIO], object], durable: bool = True) -> None:
    """``write_bytes`` of what ``write`` puts into the stream it is given; where that fails, nothing is left of it."""
    replace_file(path, write, os.fsync if durable else lambda descriptor: None)
    if durable:
        sync_folder(path.parent)


def write_text(path: Path, text: str, durable: bool = True) -> None:
    """``write_bytes`` of UTF-8 text."""
    write_bytes(path, text.encode(), durable)


def sync_folder(folder: Path) -> None:
    """Make renames inside ``folder`` durable (Windows does so by itself)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
