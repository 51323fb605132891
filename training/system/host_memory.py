"""How much of the computer's memory this process may still take before the system refuses it, or kills it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import psutil

_UNLIMITED = 1 << 60  # what control groups of version 1 say instead of "max" lies just below 2**63


@dataclass(frozen=True)
class HostMemory:
    """Bytes: ``total`` as ``bound`` ("that this computer has"...) says, ``available`` of them still free."""

    total: int
    available: int
    bound: str


def host_memory() -> HostMemory:
    """The narrowest of the bounds that hold for this process: the computer, its container, its own limits. About 0.1 ms.

    Swap space does not count: a run that trains out of it is as good as dead.
    """
    machine = psutil.virtual_memory()
    bounds = [
        HostMemory(machine.total, machine.available, "that this computer has"),
        *_process_bounds(),
    ]
    for group in control_groups():
        with suppress(OSError, ValueError):  # a group may be dissolved while we look
            bound = group.read_limit()
            if bound is not None:
                bounds.append(bound)
    return min(bounds, key=lambda bound: bound.available)


@dataclass(frozen=True)
class ControlGroup:
    """A folder of Linux' control groups that may limit memory, of version 1 or 2."""

    folder: Path
    version: int

    def read_limit(self) -> HostMemory | None:
        """The limit and what is left of it; None where there is no limit. What caches hold of files can be taken back,
        so it counts as free."""
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        limit_name, usage_name, cached_name = (
            names if self.version == 1 else ("memory.max", "memory.current", "inactive_file")
        )
        text = (self.folder / limit_name).read_text().strip()
        if text == "max" or int(text) >= _UNLIMITED:
            return None
        total, used = int(text), int((self.folder / usage_name).read_text())
        for line in (self.folder / "memory.stat").read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == cached_name:
                used -= int(value)
        return HostMemory(total, max(total - used, 0), "that this container may use")


@lru_cache(maxsize=1)
def control_groups(
    membership: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> tuple[ControlGroup, ...]:
    """The groups that this process is in and that have a say about memory, innermost first; none but on Linux."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return ()
    groups: list[ControlGroup] = []
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0":
            top, version, limit = root, 2, "memory.max"
        elif "memory" in controllers.split(","):
            top, version, limit = root / "memory", 1, "memory.limit_in_bytes"
        else:
            continue
        inner = top / path.lstrip("/")
        # Inside a container the path may be that of the host, while the container's own group is mounted at the top.
        for folder in [inner, *inner.parents]:
            if folder.is_relative_to(top) and (folder / limit).is_file():
                groups.append(ControlGroup(folder, version))
    return tuple(groups)


def _process_bounds() -> Iterator[HostMemory]:
    """What ``ulimit -v`` and ``ulimit -d`` leave."""
    if sys.platform == "win32":
        return
    import resource

    used = psutil.Process().memory_info()
    for kind, taken, flag in (
        (resource.RLIMIT_AS, used.vms, "-v"),
        (resource.RLIMIT_DATA, getattr(used, "data", 0), "-d"),
    ):
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY:
            yield HostMemory(limit, max(limit - taken, 0), f"that this process may use (ulimit {flag})")


def peak_resident() -> int:
    """The most bytes of memory this process has held at once, since it began or since ``forget_peak``."""
    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def forget_peak() -> None:
    """Let ``peak_resident`` begin again, where the system allows that (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
