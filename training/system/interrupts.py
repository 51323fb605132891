"""Ctrl+C while the program is being loaded.

An interrupt that is raised inside an import is sometimes swallowed there, and the program would go on with libraries of
which a part is missing. So nothing is raised then: the process ends. Nothing heavy may be imported here.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

_SENTENCE = "Interrupted while the program was being loaded.\n"


def leave_when_interrupted() -> None:
    """For the first moments of a process: Ctrl+C ends it, in a sentence. One that was told to ignore it (a background
    job of a shell) goes on ignoring it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_when_interrupted() -> None:
    """From now on somebody catches KeyboardInterrupt; only while something is imported the process still ends."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, end_at_once)


def end_at_once(_number: int, frame: FrameType | None) -> None:
    """A signal handler: raises KeyboardInterrupt, but inside an import ends the process."""
    if _importing(frame):
        _leave()
    raise KeyboardInterrupt


def _leave(_number: int = 0, _frame: FrameType | None = None) -> None:
    if sys.stderr is not None:  # else its number is another file's
        with suppress(OSError):
            os.write(2, _SENTENCE.encode())  # past Python's stream, which this may have interrupted
    os._exit(130)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "_find_and_load" and "importlib" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False
