"""How worker processes are started."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from multiprocessing.context import BaseContext

import psutil

_PRELOAD = ["torch", "training.data.workers", "training.data.sources.image_folder"]


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


def end_with(engine: int, started: float) -> None:
    """Make this worker end when the process ``engine`` (its id, and when it was created) is gone.

    torch's own watch looks at the parent, which is the fork server; that in turn lives as long as a worker does, so
    after a ``kill -9`` of the engine both would stay for ever, with their memory.
    """

    def watch() -> None:
        while _alive(engine, started):
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, name="watch engine", daemon=True).start()


def _alive(process: int, started: float) -> bool:
    try:
        return abs(psutil.Process(process).create_time() - started) < 1.0
    except psutil.NoSuchProcess:
        return False


def core_count() -> int:
    """Processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
