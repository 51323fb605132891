"""Why an engine is gone, in words: from its exit code and the end of what it wrote."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

from studio.engine.messages import EngineDeath
from training.errors import LOST_PICTURES
from training.system.interpreter import NO_ENGINE, NO_ENGINE_ADVICE

_ERROR = re.compile(r"^((?:\w+\.)*\w*(?:Error|Exception)): (.+)$", re.MULTILINE)
_ABSENT = re.compile(r": No module named ([\w.]+)\s*$")  # how Python itself says it, for what -m names
_TOLD = re.compile(r"^The package ([\w.]+) is missing", re.MULTILINE)  # how our own command line says it
_MISSING = re.compile(r"No module named '?([A-Za-z0-9_.]+)'?")

_PLACE = re.compile(r'^Current thread .*\(most recent call first\):\n  File "(.+)", line (\d+) in (\S+)', re.MULTILINE)
"""Where a native crash happened, as faulthandler writes it."""

_OTHER_PYTHON = "Choose another Python in Preferences, Engines."

_WINDOWS_FAULTS = {0xC0000005: "an access violation", 0xC00000FD: "a stack overflow", 0xC0000135: "a missing DLL"}
_UNREADABLE = 0xC0000006  # Windows' word for SIGBUS
_READER = "image_file.py"
"""Who maps files into memory: in the stack of a crash, it was one of its."""


def explain_no_start(python: str, error: OSError) -> EngineDeath:
    """The process could not even be started; ``python`` is empty where there is none."""
    if not python:
        return EngineDeath(f"{NO_ENGINE}.", NO_ENGINE_ADVICE)
    return EngineDeath(f"The engine's Python {python} could not be started: {error.strerror or error}.", _OTHER_PYTHON)


def explain_exit(code: int, log: str, python: str) -> EngineDeath:
    """The process ended by itself with ``code`` (negative: by that signal)."""
    absent = (_ABSENT.search(log) or _TOLD.search(log)) if code == 1 else None
    if absent:
        return _explain_missing(absent[1], log, python)
    raised = _ERROR.findall(log)
    # Asked before the exit code: Python may abort (a signal) while it ends because of an ordinary error.
    if raised and code in (1, -signal.SIGABRT):
        kind, message = raised[-1]
        missing = _MISSING.search(message)
        if missing:
            return _explain_missing(missing[1], log, python)
        return EngineDeath(f"The engine could not go on: {kind}: {message}", f"The log says more. {_OTHER_PYTHON}", log)
    if code < 0:
        # Python, which tells of threads at work while it dies, may die of that: what it said first is the cause.
        is_bus = code == -signal.SIGSEGV and "Fatal Python error: Bus error" in log
        return _explain_signal(signal.SIGBUS if is_bus else -code, log)
    if code & 0xFFFFFFFF == _UNREADABLE:
        return _explain_unreadable(f"{_UNREADABLE:#X}", log)
    if code & 0xFFFFFFFF in _WINDOWS_FAULTS:
        fault = _WINDOWS_FAULTS[code & 0xFFFFFFFF]
        return EngineDeath(f"The engine crashed: {fault}.", "The log may name the cause.", log)
    return EngineDeath(f"The engine ended unexpectedly (exit code {code}).", "The log may say why.", log)


def _explain_missing(module: str, log: str, python: str) -> EngineDeath:
    name = module.partition(".")[0]
    if name in ("torch", "torchvision"):
        title = {"torch": "PyTorch", "torchvision": "torchvision"}[name]
        install = f"{python} -m pip install {name}"
        return EngineDeath(
            f"{title} is not installed in the engine's Python ({python}).",
            f"Install it there ({install}) or choose another Python in Preferences, Engines.",
            log,
        )
    if name == "training":
        return EngineDeath(
            f"Trainwright itself is not installed in the engine's Python ({python}).",
            "Install it there or choose another Python in Preferences, Engines.",
            log,
        )
    return EngineDeath(
        f"The engine's Python ({python}) lacks the module {name}.",
        "Preferences, Engines tells what else it lacks; choose another one there, or install what is missing.",
        log,
    )


def _explain_signal(number: int, log: str) -> EngineDeath:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    if name == "SIGKILL":
        how = "was killed from outside"
        advice = (
            ""
            if sys.platform == "win32"
            else "When nobody did that, the computer ran out of memory: use a smaller batch."
        )
        return EngineDeath(f"The engine {how} (SIGKILL).", advice, log)
    if name == "SIGBUS":
        return _explain_unreadable(name, log)
    if name in ("SIGSEGV", "SIGILL", "SIGFPE", "SIGABRT"):
        where = _where(log) or "The log may name the cause."
        return EngineDeath(f"The engine crashed in native code ({name}).", where, log)
    return EngineDeath(f"The engine was ended by {name}.", "", log)


def _explain_unreadable(name: str, log: str) -> EngineDeath:
    surely = _READER in log.rpartition("Current thread")[2]
    advice = f"{'It was a file' if surely else 'Most likely it was one'} of the {LOST_PICTURES} {_where(log)}"
    return EngineDeath(
        f"The engine crashed ({name}) because a file that was mapped into memory could no longer be read.",
        advice.rstrip(),
        log,
    )


def _where(log: str) -> str:
    place = _PLACE.search(log)
    return f"It was in {place[3]} ({Path(place[1]).name}, line {place[2]})." if place else ""
