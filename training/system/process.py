"""Processes: what has to be set in one before torch is loaded, and which process is which."""

from __future__ import annotations

import ctypes
import gc
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # mallopt(3)
_NICE = 10


def tune_process() -> None:
    """Set what a process that trains needs, and only such a process: ``calm_threads``, and an allocator that keeps what
    the next step will need again."""
    calm_threads()
    _keep_freed_memory()


def calm_threads() -> None:
    """Let arithmetic threads wait politely.

    libgomp's threads spin at every barrier before they sleep, for milliseconds by default. On a desktop, where a
    window, a browser or another run wants the cores too, they then burn the time the slower thread needs: measured on
    two busy cores, a small CNN's step took 440 ms instead of 75. A short spin costs nothing measurable on idle cores.
    Results do not depend on it. What the user has set is left alone.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def _keep_freed_memory() -> None:
    """Have glibc keep large blocks that were freed, instead of returning them and fetching fresh ones at the next step.

    Fresh pages are zeroed by the system, one fault for each 4 kB. Processor time a step, one thread, without and with
    this (``/proc`` counts no fault a step with it): lab CNN, batch 128, 50.8 and 37.1 ms; small CNN at 64x64, batch 64,
    169 and 106 ms; a small MLP, which has no large blocks, the same. Resident memory grew by 1% to 10%. A limit
    on the size of what is kept (M_MMAP_THRESHOLD, 32 MB at most) measured the same, but leaves larger activations out.
    ``give_back_memory`` returns what is free. Elsewhere than glibc, and in the window's process, nothing is changed.
    """
    if "malloc" in os.environ.get("GLIBC_TUNABLES", "") or any(name.startswith("MALLOC_") for name in os.environ):
        return  # the user's own
    with suppress(AttributeError, OSError, TypeError, ValueError):
        if os.confstr("CS_GNU_LIBC_VERSION"):
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(_M_MMAP_MAX, 0)
            mallopt(_M_TRIM_THRESHOLD, -1)  # read as an unsigned number: never


def give_back_memory() -> None:
    """Return what the allocator keeps though nobody holds it any more, where it can be asked to (glibc)."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def heap_left_alone() -> Iterator[None]:
    """Meanwhile the garbage collector passes over all objects that are there by now.

    They stay anyway, and there are a million of them once torch and its compiler are loaded: looking through them takes
    0.3 s, in which no step is made, and used to happen within a run's first epochs. Afterwards they are looked at again,
    or the next run of this process could not have the memory of what this one leaves behind in cycles.
    """
    gc.collect(1)  # of what was made just now; it would be kept
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def machine() -> str:
    """Where a process id means what it means here: this host, since this start of it, in this container.

    Two processes with equal machines can look each other up; about others only their signs of life tell.
    """
    parts = [socket.gethostname()]
    if sys.platform == "linux":
        with suppress(OSError):  # some sandboxes hide these
            parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
            parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def birth(process: int) -> str | None:
    """When ``process`` of this machine began, in a form that no setting of the clock changes; None when it is not alive.

    Together with its id this is a process's identity: ids are used again. On Linux it is counted in ticks since the
    start of the machine, because psutil derives a date from them by today's clock, and the date moves with that. A
    process that has ended and was only not collected by its parent yet is not alive.
    """
    if sys.platform != "linux":
        try:
            found = psutil.Process(process)
            return None if found.status() == psutil.STATUS_ZOMBIE else repr(found.create_time())
        except (psutil.Error, ValueError, OverflowError):
            return None
    try:
        # The second field is the program's name in brackets and may hold anything, brackets too.
        line = Path(f"/proc/{process:d}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = line.rpartition(")")[2].split()
    state, started = fields[0], fields[19]
    return None if state in "ZX" else started


def free_files() -> int | None:
    """How many more files this process may open; None where nobody says (Windows)."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if limit == resource.RLIM_INFINITY else max(limit - psutil.Process().num_fds(), 0)


def yield_processor(process: psutil.Process | None = None) -> None:
    """Let others go before ``process`` (this one by default) from now on; threads that it has already keep their niceness on Linux."""
    process = process or psutil.Process()
    if sys.platform == "win32":
        process.nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:  # root may raise a priority, too: what is nicer already must not become less so
        process.nice(max(int(process.nice()), _NICE))
