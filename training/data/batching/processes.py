"""How worker processes are started."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import BaseContext

from training.system.process import birth

_PRELOAD = ["torch", "training.data.batching.workers", "training.data.sources.image_folder"]
MOST_DEATHS = 3
"""Of processes, one after the other, without an answer in between: then no other takes their place."""


def worker_context() -> BaseContext:
    """forkserver with torch loaded, spawn where that is not safe; never fork.

    The process that trains may hold Qt or native threads: forked, a worker inherits their locks in whatever state they
    are and hangs now and then (2 of 200 starts, measured). A fork server holds none; its first start costs a second, later
    ones a few hundredths.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOAD)
    return context


def stop_fork_server() -> None:
    """End the server, which holds torch (some 370 MB) for as long as this process lives; the next worker starts another. Nothing where there is
    none. Python has no public way: where its own private one is gone, the server stays."""
    server = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
    if (stop := getattr(server, "_stop", None)) is not None:
        stop()


def end_with(engine: int, born: str | None, worker: int) -> None:
    """Make this worker, of whatever number, end when the process ``engine`` (its id, and its ``birth``) is gone.

    torch's own watch looks at the parent, which is the fork server; that in turn lives as long as a worker does, so
    after a ``kill -9`` of the engine both would stay for ever, with their memory.
    """

    def watch() -> None:
        while birth(engine) == born:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, name="watch engine", daemon=True).start()


@contextmanager
def deaf_to_the_terminal() -> Iterator[None]:
    """Processes started inside never hear of Ctrl+C or of the terminal being closed, which reach the whole group: the
    engine decides when they end. Here both signals wait until the block is left."""
    if sys.platform == "win32":
        yield
        return
    signals = {signal.SIGINT, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
