"""How worker processes are started."""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.context import BaseContext

_PRELOAD = ["torch", "training.data.streamed", "training.data.sources.image_folder"]


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


def core_count() -> int:
    """Processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
