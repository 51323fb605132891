"""Who works in a run folder: one process at a time, on whatever machine.

``owner.json`` names the process. On its own machine the process is looked up, by what no clock and no reuse of ids can
change. Of other machines (a shared drive, a folder that was moved while a run worked) only signs of life can be seen: the
owner touches the file every few seconds, whatever else it does, and who wants the folder watches it for a while.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from training.errors import InputError, RunBusyError, TrainingError
from training.runs.links import refuse_links
from training.runs.storage import folder_gone, is_gone
from training.system.atomic import write_text
from training.system.process import birth, machine
from training.system.untrusted import MEGABYTE, escape_unprintable, parse_json, read_bytes

OWNER_FILE = "owner.json"
BEAT_SECONDS = 2.0
WATCH_SECONDS = 10.0
"""How long the claim of a process elsewhere is watched for a sign of life before it counts as left behind."""
_FRESH_SECONDS = 60.0


class Owner(BaseModel):
    """``owner.json``: a process, what no reuse of its id can change (``born``), and its machine."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    pid: int
    born: str | None = None
    machine: str = ""
    host: str = "another machine"
    since: str = ""

    @property
    def is_elsewhere(self) -> bool:
        """Whether it works on another machine."""
        return self.machine != machine()

    @property
    def is_mine(self) -> bool:
        """Whether it is this very process."""
        return self.pid == os.getpid() and self.born == birth(os.getpid()) and not self.is_elsewhere

    def __str__(self) -> str:
        since = f" since {self.since}" if self.since else ""
        return escape_unprintable(f"process {self.pid} on {self.host}{since}", 300)


def owner_of(folder: Path) -> Owner | None:
    """The live process working on ``folder``, or None.

    For a process of another machine this is a glance, by that machine's clock; ``claim`` looks longer.
    """
    record = _read(folder)
    if record is None:
        return None
    if record.is_elsewhere:
        return record if _was_touched_lately(folder) else None
    return record if birth(record.pid) == record.born else None


def claim(folder: Path) -> None:
    """Become the process that works on ``folder``; raises RunBusyError, naming it, when another live one does.

    Raises InputError when the folder cannot be written, having changed nothing.
    """
    refuse_links(folder)
    watched = None
    while True:
        before = _read(folder)
        if before is not None and before.is_elsewhere and before != watched:
            if _lives(folder):
                raise RunBusyError(
                    f"The run {folder.name} is being trained by {before}; stop it there before you go on with it here."
                )
            watched = before
        with _lock(folder):
            now = _read(folder)
            if now is not None and now.is_elsewhere and now != watched:
                continue
            refuse_others(folder)
            try:
                write_text(folder / OWNER_FILE, _make_owner(now).model_dump_json())
            except OSError as error:
                raise _unwritable(folder, error) from error
            return


def release(folder: Path) -> None:
    """Give ``folder`` back; other processes may work on it now."""
    record = _read(folder)
    if record is None or record.is_mine:
        with suppress(OSError):  # the folder is gone, or cannot be written any more: this process ends soon anyway
            (folder / OWNER_FILE).unlink(missing_ok=True)


def refuse_others(folder: Path) -> None:
    """Raise RunBusyError while a live process other than this one works on ``folder``."""
    record = _read(folder)
    if record is None or record.is_mine:
        return
    owner = owner_of(folder) if not record.is_elsewhere else None
    if owner is not None:
        raise RunBusyError(f"The run {folder.name} is already being trained by {owner}; stop that one or wait for it.")


def refuse_any(folder: Path) -> None:
    """Raise RunBusyError while a live process of any machine, this one too, works on ``folder``."""
    record = _read(folder)
    if record is not None and (_lives(folder) if record.is_elsewhere else owner_of(folder) is not None):
        raise RunBusyError(f"The run {folder.name} is being trained by {record}; stop it first.")


class Heartbeat:
    """Shows in the folder that its owner lives, also while it validates, saves or waits, and looks whether it still is
    the owner: ``lost`` is called once, in a thread, with the reason when the folder is gone or another process's."""

    def __init__(self, folder: Path, lost: Callable[[TrainingError], None]) -> None:
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
        record, path = _read(self._folder), self._folder / OWNER_FILE
        if is_gone(self._folder):
            return folder_gone(self._folder)
        try:
            if record is not None and record.is_mine:
                os.utime(path)
            elif record is not None and owner_of(self._folder) is not None:
                return TrainingError(
                    f"The run was taken over by {record}, so it was given up here.",
                    "Nothing is lost: it goes on there.",
                )
            else:
                write_text(path, _make_owner(None).model_dump_json(), durable=False)
        except OSError:  # a full disk or a drive that is away for a moment: the run's own writing tells of that
            return None
        return None


def _read(folder: Path) -> Owner | None:
    """The claim as it is written, or None when there is none that can be read."""
    try:
        return Owner.model_validate(parse_json(read_bytes(folder / OWNER_FILE, MEGABYTE)))
    except (OSError, ValueError):
        return None


def _make_owner(before: Owner | None) -> Owner:
    """This process, which keeps a claim of its own."""
    if before is not None and before.is_mine:
        return before
    return this_process()


def this_process() -> Owner:
    """What this process says of itself where it works, from now on."""
    me, here = os.getpid(), machine()
    now = time.strftime("%Y-%m-%d %H:%M")
    return Owner(pid=me, born=birth(me), machine=here, host=here.partition(" ")[0], since=now)


def _was_touched_lately(folder: Path) -> bool:
    try:
        return abs(time.time() - os.stat(folder / OWNER_FILE).st_mtime) < _FRESH_SECONDS
    except OSError:
        return False


def _lives(folder: Path) -> bool:
    """Whether the claim is touched while we watch; neither this machine's clock nor the other's matters."""
    first, end = _read_touch(folder), time.monotonic() + WATCH_SECONDS
    while time.monotonic() < end:
        time.sleep(0.1)
        seen = _read_touch(folder)
        if seen is None:
            return False  # given back
        if seen != first:
            return True
    return False


def _read_touch(folder: Path) -> tuple[int, int] | None:
    try:
        with (folder / OWNER_FILE).open("rb") as stream:  # opening asks a network drive's server, stat need not
            status = os.fstat(stream.fileno())
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Inside, no other process claims ``folder``: of two that start at the same moment one has to see the other.

    The lock is on the configuration, the one file that is never replaced; far behind its end, where nobody reads.
    """
    try:
        stream = (folder / "config.toml").open("r+b")
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


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"The run folder {folder} cannot be written ({error.strerror or error}); make it writable, free some space, or "
        "copy it to another place and resume it there."
    )
