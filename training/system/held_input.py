"""Standard input as a leash: it ends when the program that began this one has gone, however it ended."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

GO_ON, STOP = b"go on\n", b"stop\n"
"""Lines that the program at the other end may write: what is to become of this one when it has gone. The last one counts."""


def call_at_its_end(call: Callable[[], object]) -> None:
    """Call it, in a thread of its own, once standard input ends, unless the last line of it is GO_ON. Past Python's buffered stream, in
    which a waiting thread would abort the interpreter when the main one ends."""
    descriptor = sys.stdin.fileno()

    def listen() -> None:
        last = b""
        while some := os.read(descriptor, 4096):
            last = (last + some)[-len(GO_ON) :]
        if last != GO_ON:
            call()

    threading.Thread(target=listen, name="standard input", daemon=True).start()
