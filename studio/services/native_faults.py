"""Crashes in native code: Python's faulthandler writes a stack into a file of this process, and the next start finds it."""

from __future__ import annotations

import faulthandler
import logging
import os
from pathlib import Path
from typing import IO

import psutil

logger = logging.getLogger(__name__)


class NativeFaults:
    """Watches this process from now on, until ``close``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / f"native-{os.getpid()}-{int(psutil.Process().create_time())}.txt"
        self._file: IO[str] | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("w", encoding="utf-8")  # kept open: the crash handler may not open files
        except OSError as error:
            logger.warning("Native crashes will leave no report: %s", error)
            return
        faulthandler.enable(self._file)

    def left_behind(self) -> list[str]:
        """What earlier processes wrote when they crashed; each is told once. Files of processes still alive stay."""
        found = []
        for path in sorted(self._folder.glob("native-*.txt")):
            if path == self._path or _writer_lives(path):
                continue
            try:
                text = path.read_text(encoding="utf-8", errors="replace").strip()
                path.unlink()
            except OSError as error:
                logger.warning("%s cannot be read: %s", path, error)
                continue
            if text:  # a process that was killed leaves an empty one
                found.append(text)
        return found

    def close(self) -> None:
        """The end of an orderly process, which leaves no file."""
        if self._file is not None:
            faulthandler.disable()
            self._file.close()
            self._file = None
            self._path.unlink(missing_ok=True)


def _writer_lives(path: Path) -> bool:
    try:
        _, pid, started = path.stem.split("-")
        return abs(psutil.Process(int(pid)).create_time() - int(started)) < 2.0
    except (ValueError, psutil.Error):
        return False
