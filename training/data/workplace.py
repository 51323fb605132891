"""``workplace``: where one process at a time makes something, out of sight until it is done."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from training.data.file_lock import FileLock
from training.errors import InputError


@contextmanager
def workplace(folder: Path, name: str, busy: str, keep: Callable[[Path], bool]) -> Iterator[Path]:
    """The hidden folder ``name`` in ``folder``. It is removed afterwards unless ``keep`` says that the next process can go
    on with what is in it; one that was killed leaves it as it is. Raises InputError, in which ``busy`` says what another
    process is doing there, and OSError."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)

    def clear() -> None:
        if not keep(place):
            shutil.rmtree(place, ignore_errors=True)  # what stays is used or removed next time

    with FileLock(place / "lock") as lock:
        if not lock.taken:
            raise InputError(f"{busy} by another run.", "Wait for it, then start again.")
        try:
            yield place
        finally:
            if sys.platform != "win32":  # while it is held: afterwards it may be another's
                clear()
    if sys.platform == "win32":  # where no file goes that somebody has opened
        clear()
