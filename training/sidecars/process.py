"""The process itself: how it is begun, how long it works, and that a run has one of a kind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from training.errors import InputError, TrainingError
from training.runs.folder import RunFolder, owner_of
from training.streams import say

Say = Callable[[str], None]

_PATIENCE_AFTER_RUN = 600.0  # seconds, for a server that is away
_PATIENCE_OF_A_PERSON = 20.0
_POLL_SECONDS = 3.0
_LOCK, _LOCK_SECONDS = "lock", 60.0  # of another process, which is mostly done by then
_LOG = "log.txt"


def start_process(command: str, folder: RunFolder, options: Sequence[str]) -> None:
    """Begin ``python -m training command FOLDER --follow`` with ``options``. Raises OSError where no process can be begun."""
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(  # it outlives this process, and a terminal's Ctrl+C is not for it
        [sys.executable, "-m", "training", command, str(folder.path), "--follow", *options],
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
        start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    threading.Thread(target=process.wait, name="sidecar", daemon=True).start()  # or its end would stay unread
    _yield_to_others(process.pid)


def _yield_to_others(pid: int) -> None:
    """Give a process only the time, and on Linux the disk, that no other wants."""
    with suppress(OSError, psutil.Error):
        if sys.platform == "linux":
            psutil.Process(pid).ionice(psutil.IOPRIO_CLASS_IDLE)
        if sys.platform == "win32":
            psutil.Process(pid).nice(psutil.IDLE_PRIORITY_CLASS)
        elif hasattr(os, "SCHED_IDLE"):
            os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
        else:
            psutil.Process(pid).nice(19)


def run_sidecar(
    place: Path, follow: bool, deliver: Callable[[Say, float], bool], describe: Callable[[], Iterable[str]]
) -> int:
    """Have ``deliver`` bring the run where it is wanted, telling by the function it is handed, with patience in seconds for a far
    end that is away; returns the exit code. What a process without a terminal tells is added to the log in ``place``, with
    ``describe``'s lines of how things stand."""
    if not follow:
        return 0 if deliver(say, _PATIENCE_OF_A_PERSON) else 1
    lines: list[str] = []
    try:
        return 0 if deliver(lines.append, _PATIENCE_AFTER_RUN) else 1
    except TrainingError as error:
        lines.append(str(error))
        return error.exit_code
    except Exception as error:
        # Nobody sees what this process prints. Its message stays out of the run's folder: it may hold a key.
        lines += ["".join(traceback.format_tb(error.__traceback__)), type(error).__name__]
        raise
    finally:
        keep_log(place, [*lines, *describe()])


def keep_log(place: Path, lines: Iterable[str]) -> None:
    """Add ``lines`` to the log in ``place``."""
    with suppress(OSError), (place / _LOG).open("a", encoding="utf-8") as stream:  # the run's folder is gone, or full
        stream.write("\n".join([time.strftime("%Y-%m-%d %H:%M:%S"), *lines]) + "\n")


@contextmanager
def be_alone(place: Path, follow: bool) -> Iterator[None]:
    """Be the only process that delivers what ``place`` keeps account of; wait for another one, for ever where ``follow`` says so.
    Raises InputError."""
    place.mkdir(exist_ok=True)
    try:
        with FileLock(place / _LOCK, timeout=-1 if follow else _LOCK_SECONDS, poll_interval=0.5):
            yield
    except Timeout as error:
        raise InputError(
            f"The run {place.parent.name} is being sent by another process; wait until that is done."
        ) from error


def is_sending(place: Path) -> bool:
    """Whether a process is delivering now what ``place`` keeps account of."""
    if not (place / _LOCK).is_file():
        return False
    try:
        with FileLock(place / _LOCK, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # a folder that cannot be written: nobody delivers it
        return False


def work_until_done(folder: RunFolder, follow: bool, patience: float, work: Callable[[str], bool | None]) -> None:
    """Call ``work`` with how the run ended ("" while it is at work) until it says that nothing is left: as long as the run is at work
    where ``follow`` says so, and then for ``patience`` seconds more. None says that nothing more can be done. It ends, too, where the
    run's folder is gone: somebody deleted it."""
    over: float | None = None
    while folder.path.is_dir():
        ended = tell_end(folder)  # before the files: what is read then is all
        done = work(ended)
        if done is None:
            return
        if ended or not follow:
            over = over or time.monotonic()
            if done or time.monotonic() - over > patience:
                return
        else:
            over = None  # it was resumed
        time.sleep(_POLL_SECONDS if follow and owner_of(folder.path) else 0.5)


def tell_end(folder: RunFolder) -> str:
    """ "completed", "stopped", "failed", "interrupted"; "" while a process works on the run."""
    return "" if owner_of(folder.path) is not None else folder.status().status
