"""Connections that notice by themselves that the other end is out of reach: a cable, a switch or a machine that is gone says nothing."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

LOST_SECONDS = 45
"""After so long without a sign from the other machine's kernel a connection counts as broken, whatever waits for it. A process that is busy
for longer is not meant: its machine answers for it."""
_IDLE, _EACH = 15, 5
_OPTIONS = {
    "TCP_KEEPIDLE": _IDLE,
    "TCP_KEEPALIVE": _IDLE,  # what macOS calls it
    "TCP_KEEPINTVL": _EACH,
    "TCP_KEEPCNT": (LOST_SECONDS - _IDLE) // _EACH,
    "TCP_USER_TIMEOUT": 1000 * LOST_SECONDS,
}


def keep_alive() -> None:
    """Have every TCP connection that this process has by now look after its other end: torch's libraries open them, and leave it at the
    system's two hours. Without effect on systems that do not list a process's open files."""
    for number in _open_files():
        with suppress(OSError):  # closed meanwhile
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                with socket.socket(fileno=os.dup(number)) as one:
                    _look_after(one)


def _look_after(one: socket.socket) -> None:
    if one.type != socket.SOCK_STREAM or one.family not in (socket.AF_INET, socket.AF_INET6):
        return
    one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _OPTIONS.items():
        if hasattr(socket, option):
            one.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _open_files() -> list[int]:
    for place in (Path("/proc/self/fd"), Path("/dev/fd")):
        with suppress(OSError):
            return [int(file.name) for file in place.iterdir()]
    return []
