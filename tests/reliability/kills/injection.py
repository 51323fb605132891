"""What an engine that the harness starts is given along: it kills itself at one chosen moment.

A trigger says when (see ``tests.reliability.kills.moments.Trigger``): before, after, or half-way through the n-th file
operation that fits. The operating system's calls are wrapped, never a function of the program, so the program under test
is the one that people run. Sabotage breaks something on purpose, to see that the harness notices.
"""

from __future__ import annotations

import builtins
import io
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SERIES_HEADER, SERIES_ROW = 32, 32


class Killer:
    """Ends this process with SIGKILL at the moment it was told of."""

    def __init__(self, trigger: dict[str, Any], note: str) -> None:
        self._operation: str = trigger["operation"]
        self._pattern = re.compile(trigger["pattern"])
        self._when: str = trigger["when"]
        self._left: int = trigger["count"]
        self._rows: int = trigger["rows"]
        self._latest: int = trigger["latest"]
        self._delay: float = trigger["delay"]
        self._share: float = trigger["share"]
        self._note = note
        self._process = os.getpid()
        self._write, self._open = os.write, os.open
        self._series = ""

    def call(self, operation: str, subject: str, original: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Do ``original``, which is ``operation`` on ``subject``, unless this is the moment."""
        if subject == self._series and operation == "write" and self._rows_so_far() >= self._latest:
            self._die("instead:", operation, subject)
        if not self._now(operation, subject):
            return original(*args, **named)
        if self._when == "half":
            self._half(original, *args)
            self._die(self._when, operation, subject)
        if self._when == "before":
            self._die(self._when, operation, subject)
        result = original(*args, **named)
        self._die(self._when, operation, subject)
        return result

    def saw_series(self, path: str) -> None:
        """Remember which file tells how far the run is."""
        self._series = path

    def _now(self, operation: str, subject: str) -> bool:
        if operation != self._operation or self._left <= 0 or os.getpid() != self._process:
            return False
        if self._pattern.search(subject) is None or self._rows_so_far() < self._rows:
            return False
        self._left -= 1
        return self._left == 0

    def _rows_so_far(self) -> int:
        if not self._series:
            return 0
        return (os.stat(self._series).st_size - SERIES_HEADER) // SERIES_ROW

    def _half(self, original: Callable[..., Any], target: Any, data: Any) -> None:
        """Write the first part of the bytes, as a kill inside the system's write may leave it."""
        original(target, memoryview(data).cast("B")[: int(memoryview(data).nbytes * self._share)])

    def _die(self, when: str, operation: str, subject: str) -> None:
        line = f"{when} {operation} {subject}".replace("\n", " ")
        descriptor = self._open(self._note, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._write(descriptor, f"{line[:400]}\n".encode())
        os.close(descriptor)
        if self._delay and when == "after":
            threading.Thread(target=self._die_later, daemon=True).start()
        else:
            os.kill(self._process, signal.SIGKILL)

    def _die_later(self) -> None:
        time.sleep(self._delay)
        os.kill(self._process, signal.SIGKILL)


def path_of(file: Any, folder: int | None = None) -> str:
    """The path behind a path, a name inside the folder open as ``folder``, or a descriptor."""
    if isinstance(file, int):
        return str(Path(f"/proc/self/fd/{file}").readlink())
    inside = Path(path_of(folder)) if folder is not None else Path.cwd()
    return str(inside / os.fsdecode(file))


def wrap_system(killer: Killer) -> None:
    """Send the calls that change files through ``killer``."""
    for name in ("mkdir", "unlink", "remove", "rmdir"):
        setattr(os, name, _on_path(killer, name, getattr(os, name)))
        os.supports_dir_fd.add(getattr(os, name))
    for name in ("rename", "replace", "link"):
        operation = "link" if name == "link" else "rename"
        setattr(os, name, _on_two_paths(killer, operation, getattr(os, name)))
    os.fsync = _on_descriptor(killer, "fsync", os.fsync)
    os.write = _on_descriptor(killer, "write", os.write)
    opening = io.open

    def watched_open(file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **named: Any) -> Any:
        if isinstance(file, int) or not set(mode) & set("wax+"):
            return opening(file, mode, buffering, *rest, **named)
        path = path_of(file)
        if "b" not in mode or rest or named:
            return killer.call("open", path, opening, file, mode, buffering, *rest, **named)
        raw = killer.call("open", path, WatchedFile, path, mode, killer)
        return raw if buffering == 0 else io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)

    builtins.open = io.open = watched_open


def _on_path(killer: Killer, operation: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(path: Any, *args: Any, **named: Any) -> Any:
        subject = path_of(path, named.get("dir_fd"))
        return killer.call("remove" if operation == "unlink" else operation, subject, original, path, *args, **named)

    return call


def _on_two_paths(killer: Killer, operation: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(source: Any, target: Any, **named: Any) -> Any:
        return killer.call(operation, f"{path_of(source)} -> {path_of(target)}", original, source, target, **named)

    return call


def _on_descriptor(killer: Killer, operation: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(descriptor: int, *args: Any) -> Any:
        subject = path_of(descriptor)
        if args and subject.endswith("/events.jsonl"):
            subject += f" {bytes(args[0]).decode()}"
        return killer.call(operation, subject, original, descriptor, *args)

    return call


class WatchedFile(io.FileIO):
    """A file being written, whose bytes may stop arriving."""

    def __init__(self, path: str, mode: str, killer: Killer) -> None:
        super().__init__(path, mode)
        self._path, self._killer = path, killer
        if path.endswith("/series.bin"):
            killer.saw_series(path)

    def write(self, data: Any) -> int:
        """Append, unless the moment has come."""
        return int(self._killer.call("write", self._path, io.FileIO.write, self, data))

    def truncate(self, size: int | None = None) -> int:
        """Cut, unless the moment has come."""
        return int(self._killer.call("truncate", self._path, io.FileIO.truncate, self, size))


def forget_random_state() -> None:
    """Sabotage: a resumed run does not get its random numbers back, so dropout differs."""
    import torch

    torch.set_rng_state = lambda new_state: None


SABOTAGE = {"random state": forget_random_state}
