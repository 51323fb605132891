"""Standard input as a leash: it ends when the program that began this one has gone, however it ended."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable


def call_at_its_end(call: Callable[[], object]) -> None:
    """Call it, in a thread of its own, once standard input ends. Past Python's buffered stream, in which a waiting thread would abort
    the interpreter when the main one ends."""
    descriptor = sys.stdin.fileno()

    def listen() -> None:
        while os.read(descriptor, 4096):
            pass
        call()

    threading.Thread(target=listen, name="standard input", daemon=True).start()
