"""Errors nobody caught: logged, kept as a report, and shown with their text instead of vanishing."""

from __future__ import annotations

import faulthandler
import logging
import os
import platform
import sys
import threading
import traceback
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import IO

import psutil
from PySide6.QtCore import QObject, Signal, qVersion

from studio.identity import APP_NAME, VERSION

logger = logging.getLogger(__name__)

NATIVE = "Crashed in native code"
"""How the report of a native crash begins: the window ended with it."""


def system_summary() -> str:
    """One line for reports: versions and platform."""
    system = f"{platform.system()} {platform.release()} ({platform.machine()})"
    return f"{APP_NAME} {VERSION}, Python {platform.python_version()}, Qt {qVersion()}, {system}"


@dataclass(frozen=True)
class Crash:
    """One report; ``path`` is None where it could not be kept."""

    text: str
    path: Path | None


class CrashReporter(QObject):
    """Catches exceptions that reached the top of any thread; the same one again is only logged.

    Signals:
        reported(Crash): always delivered in the GUI thread.
    """

    reported = Signal(object)

    def __init__(self, reports: CrashReports, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.reports = reports
        self._known: set[str] = set()

    def install(self) -> None:
        """Become the process's exception hook."""
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception

    def uninstall(self) -> None:
        """Give Python's own hooks back."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__

    def keep_native(self, faults: list[str]) -> None:
        """Make reports of what native crashes of earlier starts left behind."""
        for fault in faults:
            self.reports.write(f"{NATIVE}\n{system_summary()}\n\n{fault}")

    def _on_exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            return  # the signal handler ends the program politely
        text = "".join(traceback.format_exception(kind, error, trace))
        logger.error("Uncaught exception:\n%s", text)
        if text in self._known:  # a paint event fails with each frame
            return
        self._known.add(text)
        report = f"{system_summary()}\n\n{text}"
        self.reported.emit(Crash(report, self.reports.write(report)))

    def _on_thread_exception(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self._on_exception(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)


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

    def collect(self) -> list[str]:
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
