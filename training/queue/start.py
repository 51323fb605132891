"""A worker that outlives who starts it: the window, or a terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from training.errors import InputError, TrainingError
from training.queue.device import fits
from training.queue.entries import ALL_DEVICES
from training.queue.store import Queue
from training.queue.workers import refuse_worker, worker_of, workers
from training.runs.owner import Owner
from training.system.interpreter import engine_environment, engine_program
from training.system.untrusted import escape_unprintable

_START_SECONDS = 60.0
_MOST_LOG = 1 << 20


def log_of(queue: Queue, device: str) -> Path:
    """What the worker of ``device`` says."""
    return queue.folder / "workers" / f"{device.replace(':', '-')}.log"


def list_logs(queue: Queue) -> list[str]:
    """The devices whose workers have said something, also those that ended."""
    names = sorted(path.stem.replace("-", ":") for path in (queue.folder / "workers").glob("*.log"))
    return [name for name in names if not name.endswith(".old")]


def start_worker(queue: Queue, device: str, program: Sequence[str] = ()) -> Owner | None:
    """Begin a worker of ``device`` in a process of its own, and wait until it is one; None where there is nothing to do, or it was done at once, and
    where nobody waits any more (``Queue.is_left``): it begins all the same. ``program`` is the engine's command line where that is not this very
    program.

    Raises InputError where there is one already, TrainingError, with its last words, where it cannot work.
    """
    refuse_worker(queue, device)
    content = queue.read()
    if not any(fits(queue, entry, device) for entry in (*content.waiting, *content.at_work)):
        return None  # it would be a worker for a moment, and nobody could say whether it is one
    log = log_of(queue, device)
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        if log.is_file() and log.stat().st_size > _MOST_LOG:
            log.replace(log.with_suffix(".old.log"))
        with log.open("ab") as stream:
            process = _start(program or engine_program(), queue, device, stream.fileno())
    except OSError as error:
        raise TrainingError(
            f"The worker of the queue could not be started ({error.strerror or error}).",
            "Try python -m training queue work.",
        ) from error
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if queue.is_left():
            return None
        owner = worker_of(queue, device)
        if owner is not None and owner.pid == process.pid:
            threading.Thread(
                target=process.wait, name="queue worker", daemon=True
            ).start()  # or its end would stay unread
            return owner
        code = process.poll()
        if code == 0:
            return None
        if code is not None:
            raise TrainingError(_last_words(log) or f"The worker of the queue ended with code {code}.")
        time.sleep(0.05)
    raise TrainingError("The worker of the queue does not begin.", f"What it says: {log}")


def stop_workers(queue: Queue, device: str | None) -> list[Owner]:
    """Ask the worker of ``device``, or all, for an end: a run at work is stopped and kept, and stays the first of the queue. Returns who
    was asked. Raises InputError for one of another machine."""
    owners = [owner for name, owner in workers(queue).items() if device in (None, name)]
    for owner in owners:
        if owner.is_elsewhere:
            raise InputError(f"The queue is worked off by {owner}; stop it there.")
        os.kill(owner.pid, signal.SIGTERM)  # on Windows it ends at once, and its run, seeing that, stops and is kept
    return owners


def _start(program: Sequence[str], queue: Queue, device: str, output: int) -> subprocess.Popen[bytes]:
    words = ["queue", "work", "--workspace", str(queue.workspace)]
    if device != ALL_DEVICES:
        words += ["--device", device]
    flags = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    return subprocess.Popen(
        [*program, *words],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=engine_environment(os.environ, program[0]),
        cwd=Path.home() if Path.home().is_dir() else None,
        start_new_session=sys.platform != "win32",  # neither the terminal's end nor its Ctrl+C is for it
        creationflags=flags,
    )


def _last_words(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return escape_unprintable(lines[-1].strip(), 500) if lines else ""
