"""Who works in a run folder: one process at a time, on whatever machine.

``owner.json`` names the process. On its own machine the process is looked up, by what no clock and no reuse of ids can
change. Of other machines (a shared drive, a folder that was moved while a run worked) only signs of life can be seen: the
owner touches the file every few seconds, whatever else it does, and who wants the folder watches it for a while.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from training.errors import InputError, RunBusyError, TrainingError
from training.runs.links import refuse_links
from training.runs.storage import folder_gone, is_gone
from training.system.atomic import write_text
from training.system.process import birth, machine
from training.system.untrusted import MEGABYTE, escape_unprintable, parse_json, read_bytes

if TYPE_CHECKING:
    from training.runs.folder import RunFolder

OWNER_FILE = "owner.json"
BEAT_SECONDS = 2.0
WATCH_SECONDS = 10.0
"""How long the claim of a process elsewhere is watched for a sign of life before it counts as left behind."""
_FRESH_SECONDS = 60.0


def owner_of(folder: RunFolder) -> dict[str, Any] | None:
    """The live process working on ``folder`` ({"pid", "host", "since", ...}), or None.

    For a process of another machine this is a glance, by that machine's clock; ``claim`` looks longer.
    """
    record = _read(folder)
    if record is None:
        return None
    if _is_elsewhere(record):
        return record if _was_touched_lately(folder) else None
    return record if birth(record["pid"]) == record.get("born") else None


def claim(folder: RunFolder) -> None:
    """Become the process that works on ``folder``; raises RunBusyError, naming it, when another live one does.

    Raises InputError when the folder cannot be written, having changed nothing.
    """
    refuse_links(folder.path)
    watched = None
    while True:
        before = _read(folder)
        if before is not None and _is_elsewhere(before) and before != watched:
            if _lives(folder):
                raise RunBusyError(
                    f"The run {folder.id} is being trained by {_named(before)}; stop it there before you go on with it here."
                )
            watched = before
        with _alone(folder):
            now = _read(folder)
            if now is not None and _is_elsewhere(now) and now != watched:
                continue
            refuse_others(folder)
            try:
                write_text(folder.path / OWNER_FILE, json.dumps(_mine(now)))
            except OSError as error:
                raise _unwritable(folder, error) from error
            return


def release(folder: RunFolder) -> None:
    """Give ``folder`` back; other processes may work on it now."""
    record = _read(folder)
    if record is None or _is_mine(record):
        with suppress(OSError):  # the folder is gone, or cannot be written any more: this process ends soon anyway
            (folder.path / OWNER_FILE).unlink(missing_ok=True)


def refuse_others(folder: RunFolder) -> None:
    """Raise RunBusyError while a live process other than this one works on ``folder``."""
    record = _read(folder)
    if record is None or _is_mine(record):
        return
    owner = owner_of(folder) if not _is_elsewhere(record) else None
    if owner is not None:
        raise RunBusyError(
            f"The run {folder.id} is already being trained by {_named(owner)}; stop that one or wait for it."
        )


def refuse_any(folder: RunFolder) -> None:
    """Raise RunBusyError while a live process of any machine, this one too, works on ``folder``."""
    record = _read(folder)
    if record is not None and (_lives(folder) if _is_elsewhere(record) else owner_of(folder) is not None):
        raise RunBusyError(f"The run {folder.id} is being trained by {_named(record)}; stop it first.")


class Heartbeat:
    """Shows in the folder that its owner lives, also while it validates, saves or waits, and looks whether it still is
    the owner: ``lost`` is called once, in a thread, with the reason when the folder is gone or another process's."""

    def __init__(self, folder: RunFolder, lost: Callable[[TrainingError], None]) -> None:
        self._folder = folder
        self._lost = lost
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No further sign of life."""
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._over.wait(BEAT_SECONDS):
            reason = self._look()
            if reason is not None:
                self._lost(reason)
                return

    def _look(self) -> TrainingError | None:
        """Touch the claim, make it again where it was damaged or deleted; the reason when it is not ours any more."""
        record, path = _read(self._folder), self._folder.path / OWNER_FILE
        if is_gone(self._folder.path):
            return folder_gone(self._folder.path)
        try:
            if record is not None and _is_mine(record):
                os.utime(path)
            elif record is not None and owner_of(self._folder) is not None:
                return TrainingError(
                    f"The run was taken over by {_named(record)}, so it was given up here.",
                    "Nothing is lost: it goes on there.",
                )
            else:
                write_text(path, json.dumps(_mine(None)), durable=False)
        except OSError:  # a full disk or a drive that is away for a moment: the run's own writing tells of that
            return None
        return None


def _read(folder: RunFolder) -> dict[str, Any] | None:
    """The claim as it is written, or None when there is none that can be read."""
    try:
        record = parse_json(read_bytes(folder.path / OWNER_FILE, MEGABYTE))
        return record | {"pid": int(record["pid"])}
    except (OSError, ValueError, TypeError, KeyError, OverflowError):
        return None


def _mine(before: dict[str, Any] | None) -> dict[str, Any]:
    since = before.get("since") if before is not None and _is_mine(before) else None
    me = os.getpid()
    return {
        "pid": me,
        "born": birth(me),
        "machine": machine(),
        "host": machine().partition(" ")[0],
        "since": since or time.strftime("%Y-%m-%d %H:%M"),
    }


def _is_mine(record: dict[str, Any]) -> bool:
    return record["pid"] == os.getpid() and record.get("born") == birth(os.getpid()) and not _is_elsewhere(record)


def _is_elsewhere(record: dict[str, Any]) -> bool:
    return record.get("machine") != machine()


def _named(record: dict[str, Any]) -> str:
    since = f" since {record['since']}" if record.get("since") else ""
    return escape_unprintable(f"process {record['pid']} on {record.get('host', 'another machine')}{since}", 300)


def _was_touched_lately(folder: RunFolder) -> bool:
    try:
        return abs(time.time() - os.stat(folder.path / OWNER_FILE).st_mtime) < _FRESH_SECONDS
    except OSError:
        return False


def _lives(folder: RunFolder) -> bool:
    """Whether the claim is touched while we watch; neither this machine's clock nor the other's matters."""
    first, end = _touched(folder), time.monotonic() + WATCH_SECONDS
    while time.monotonic() < end:
        time.sleep(0.1)
        seen = _touched(folder)
        if seen is None:
            return False  # given back
        if seen != first:
            return True
    return False


def _touched(folder: RunFolder) -> tuple[int, int] | None:
    try:
        with (folder.path / OWNER_FILE).open("rb") as stream:  # opening asks a network drive's server, stat need not
            status = os.fstat(stream.fileno())
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


@contextmanager
def _alone(folder: RunFolder) -> Iterator[None]:
    """Inside, no other process claims ``folder``: of two that start at the same moment one has to see the other.

    The lock is on the configuration, the one file that is never replaced; far behind its end, where nobody reads.
    """
    try:
        stream = folder.config_file.open("r+b")
    except OSError as error:
        raise _unwritable(folder, error) from error
    with stream:
        if sys.platform == "win32":
            import msvcrt

            stream.seek(1 << 30)
            msvcrt.locking(stream.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            with suppress(OSError):  # a network drive without locks: there the record alone has to do
                fcntl.lockf(stream, fcntl.LOCK_EX, 1, 1 << 30)
        yield  # closing the file gives the lock back


def _unwritable(folder: RunFolder, error: OSError) -> InputError:
    return InputError(
        f"The run folder {folder.path} cannot be written ({error.strerror or error}); make it writable, free some space, or "
        "copy it to another place and resume it there."
    )
