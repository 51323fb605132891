"""Crash reports as files: what went wrong with the end of the log, kept until somebody has looked. No Qt here."""

from __future__ import annotations

import logging
import os
import threading
from datetime import datetime
from pathlib import Path

logger = logging.getLogger(__name__)

KEPT = 10
_LOG_TAIL = 12_000  # bytes of the log at the end of a report
_UNREAD = "-unread"


class CrashReports:
    """The reports in ``folder``; the oldest go when there are more than ten."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.folder = folder
        self._log = log
        self._lock = threading.Lock()

    def write(self, text: str) -> Path | None:
        """Keep ``text`` with the end of the log as an unread report; None (logged) where that is not possible."""
        content = f"{text.rstrip()}\n\nThe end of the log:\n\n{self._end_of_log()}\n"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._lock:  # several threads may fail at once
                path = self.folder / f"crash-{datetime.now():%Y%m%d-%H%M%S-%f}{_UNREAD}.txt"
                with path.open("x", encoding="utf-8") as stream:
                    stream.write(content)
            for old in self._all()[:-KEPT]:
                old.unlink(missing_ok=True)
        except OSError as error:  # the worst day: the disk may be full, and the person must still be told
            logger.warning("The crash report could not be written: %s", error)
            return None
        return path

    def unread(self) -> list[Path]:
        """Reports nobody has looked at, newest first."""
        return [path for path in reversed(self._all()) if path.stem.endswith(_UNREAD)]

    def mark_read(self, path: Path) -> None:
        """Somebody looked: it is not offered again, and stays in the folder."""
        try:
            path.rename(path.with_stem(path.stem.removesuffix(_UNREAD)))
        except FileNotFoundError:
            return  # another window had it looked at
        except OSError as error:
            logger.warning("%s could not be marked as read: %s", path, error)

    def _all(self) -> list[Path]:
        return sorted(self.folder.glob("crash-*.txt"))

    def _end_of_log(self) -> str:
        try:
            with self._log.open("rb") as stream:
                stream.seek(0, os.SEEK_END)
                stream.seek(max(0, stream.tell() - _LOG_TAIL))
                return stream.read().decode("utf-8", "replace").strip()
        except OSError as error:
            return f"(it cannot be read: {error})"


def read_report(path: Path) -> str:
    """A report's text; a sentence in its place when it has gone."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return f"The report {path} cannot be read: {error}"
