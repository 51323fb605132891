"""``FileLock``: one process at a time; the system gives it back when its holder dies."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from training.data.picture_file import open_ordinary

_BUSY = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}


class FileLock:
    """``taken`` tells whether this one has it; who wants to try again makes another. Raises OSError where a folder takes
    no files or its drive no locks."""

    def __init__(self, path: Path) -> None:
        self._stream = open_ordinary(path, os.O_RDWR | os.O_CREAT)
        try:
            self.taken = self._try() and self._is_file_of(path)
        except BaseException:
            self._stream.close()
            raise

    def _try(self) -> bool:
        try:
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(self._stream.fileno(), msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _BUSY:
                raise
            return False
        return True

    def _is_file_of(self, path: Path) -> bool:
        """Whether the next one will find this file: its holder may have removed it after it was opened here."""
        if sys.platform == "win32":  # no file goes that somebody has opened
            return True
        try:
            return os.path.samestat(os.fstat(self._stream.fileno()), path.lstat())
        except FileNotFoundError:
            return False

    def close(self) -> None:
        self._stream.close()  # which gives the lock back
        self.taken = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
