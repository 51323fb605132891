"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


def replace_file(path: Path, write: Callable[[BinaryIO], object], sync: Callable[[int], object] = os.fsync) -> None:
    """Let ``write`` fill a temporary file, which then takes the place of ``path``: whatever happens, ``path`` is old or new."""
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        with temporary.open("wb") as stream:
            write(stream)
            stream.flush()
            sync(stream.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
