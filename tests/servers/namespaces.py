"""Two machines that share this one's disk, and nothing else but a cable: network namespaces with a cable between them, which can be cut."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

_NETWORK = "10.213.7"


def is_here() -> bool:
    """Whether such can be made: by root, on Linux."""
    return hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("ip") is not None


class TwoMachines:
    """Made when made; ``cut`` and ``mend`` the cable, ``remove`` all of it."""

    cable = "cable"
    """What each calls its end of it."""

    def __init__(self) -> None:
        mark = secrets.token_hex(3)
        self.names = (f"tw-{mark}-a", f"tw-{mark}-b")
        self.addresses = (f"{_NETWORK}.1", f"{_NETWORK}.2")
        for name in self.names:
            _ip("netns", "add", name)
        one, other = self.names
        _ip("link", "add", self.cable, "netns", one, "type", "veth", "peer", "name", self.cable, "netns", other)
        for name, address in zip(self.names, self.addresses, strict=True):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", self.cable)
            _ip("-n", name, "link", "set", "lo", "up")
        self.mend()

    def start(self, machine: int, words: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Begin a process on one of them, which goes by a name of its own."""
        named = ["unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"', self.names[machine]]
        return subprocess.Popen(["ip", "netns", "exec", self.names[machine], *named, *words], **options)

    def cut(self) -> None:
        """Pull the cable."""
        for name in self.names:
            _ip("-n", name, "link", "set", self.cable, "down")

    def mend(self) -> None:
        """Put it back."""
        for name in self.names:
            _ip("-n", name, "link", "set", self.cable, "up")

    def remove(self) -> None:
        """Both are gone afterwards."""
        for name in self.names:
            _ip("netns", "del", name)


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
