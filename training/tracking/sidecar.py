"""The process that follows a run and sends it to trackers: begun with the run, at the lowest priority, ended when all is there."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil
from filelock import FileLock, Timeout

from training.errors import InputError, pluralize
from training.runs.folder import RunFolder, owner_of
from training.tracking.cursor import find_known_trackers
from training.tracking.delivery import Delivery
from training.tracking.facts import tell_end
from training.tracking.follower import Follower
from training.tracking.ledger import Ledger
from training.tracking.settings import Name, load_tracker_settings

PATIENCE_AFTER_RUN = 600.0  # seconds, for a server that is away
_POLL_SECONDS = 3.0
_LOCK, _LOCK_SECONDS = "lock", 60.0  # of another process, which is mostly done by then


def start_sidecar(folder: RunFolder, names: Sequence[Name]) -> None:
    """Begin the process for the trackers in use, ``names``, and those that this run was sent to before; none where there are none.
    Raises InputError for settings that cannot be read, OSError where no process can be begun."""
    wanted = load_tracker_settings().choose([*names, *find_known_trackers(folder)])
    if not wanted:
        return
    folder.tracking.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "training", "track", str(folder.path), "--follow"]
    command += [word for name in wanted for word in ("--to", name)]
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(  # it outlives this process, and a terminal's Ctrl+C is not for it
        command,
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
        start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    threading.Thread(target=process.wait, name="sidecar", daemon=True).start()  # or its end would stay unread
    yield_to_others(process.pid)


def yield_to_others(pid: int) -> None:
    """Give a process only the time that no other wants."""
    with suppress(OSError, psutil.Error):
        if sys.platform == "win32":
            psutil.Process(pid).nice(psutil.IDLE_PRIORITY_CLASS)
        elif hasattr(os, "SCHED_IDLE"):
            os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
        else:
            psutil.Process(pid).nice(19)


def track(folder: RunFolder, names: Sequence[Name], follow: bool, say: Callable[[str], None], patience: float) -> bool:
    """Send the run to the trackers ``names`` (else those in use and those it was sent to before), as long as it is at work where
    ``follow`` says so, and then for ``patience`` seconds more where a server is away. Returns whether all is there."""
    settings = load_tracker_settings()
    wanted = tuple(names) or settings.choose(find_known_trackers(folder))
    if not wanted:
        raise InputError("No tracker is chosen; name one with --to, or give it a table in trackers.toml.")
    folder.tracking.mkdir(exist_ok=True)
    try:
        with FileLock(folder.tracking / _LOCK, timeout=-1 if follow else _LOCK_SECONDS):
            return _deliver(folder, wanted, follow, say, patience)
    except Timeout as error:
        raise InputError(f"The run {folder.id} is being sent by another process; wait until that is done.") from error


def _deliver(
    folder: RunFolder, names: Sequence[Name], follow: bool, say: Callable[[str], None], patience: float
) -> bool:
    settings, ledger = load_tracker_settings(), Ledger(folder.tracking)
    follower = Follower(folder, ledger)
    deliveries = [Delivery(folder, ledger, name, settings) for name in names]
    over: float | None = None
    try:
        while True:
            ended = tell_end(folder)  # before the files: what is read then is all
            follower.poll()
            for step, words in ledger.differences:
                say(words)
                for delivery in deliveries:
                    delivery.forget_from(step, words)
            ledger.differences.clear()
            for delivery in deliveries:
                delivery.send(ended)
            left = [each for each in deliveries if not each.is_done(ended) and not each.given_up]
            if not left and (ended or not follow):
                break
            if ended or not follow:
                over = over or time.monotonic()
                if time.monotonic() - over > patience:
                    break
            time.sleep(_POLL_SECONDS if follow and owner_of(folder.path) else 0.5)
        return _tell_outcome(folder, deliveries, say)
    finally:
        ledger.close()


def _tell_outcome(folder: RunFolder, deliveries: Sequence[Delivery], say: Callable[[str], None]) -> bool:
    for delivery in deliveries:
        if not delivery.problem:
            say(f"{delivery.tracker}: all is delivered.")
            continue
        again = f"python -m training track {shlex.quote(str(folder.path))} --to {delivery.tracker}"
        say(f"{delivery.tracker}: {delivery.problem} {pluralize(delivery.waits, 'step')} wait; send them with: {again}")
    return not any(delivery.problem for delivery in deliveries)
