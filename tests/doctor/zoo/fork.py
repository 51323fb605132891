"""The program's commands as forks of this process, which has imported what they need: imports are most of what a small run costs."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MODULES = (
    "training.cli",
    "training.cli.train",
    "training.cli.check",
    "training.cli.evaluate",
    "training.engine.assemble",
    "training.doctor",
)


@dataclass(frozen=True)
class Done:
    """``code`` is 124 where it took too long. ``seconds`` are those of the computing, not of the clock: others compute beside it."""

    code: int
    out: str
    err: str
    seconds: float


def run_words(words: Sequence[str], folder: Path, environment: Mapping[str, str], longest: float) -> Done:
    """``python -m training`` with ``words`` in ``folder``, for ``longest`` seconds of computing at most."""
    for module in MODULES:
        importlib.import_module(module)
    streams = [os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC) for name in (".stdout", ".stderr")]
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = _work(words, folder, environment, streams)
        finally:
            os._exit(code)  # whatever happens: there is one process that goes on from here, and this is not it
    # ten times as long by the clock, of a machine where others compute, too
    while not (ended := os.wait4(pid, os.WNOHANG))[0]:
        if time.monotonic() - began > 10 * longest or _computed(pid) > longest:
            os.killpg(pid, signal.SIGKILL)
            ended = os.wait4(pid, 0)
            break
        time.sleep(0.05)
    _, status, used = ended
    code = os.waitstatus_to_exitcode(status)
    out, err = (_read(stream) for stream in streams)
    return Done(124 if code == -signal.SIGKILL else code, out, err, used.ru_utime + used.ru_stime)


def _work(words: Sequence[str], folder: Path, environment: Mapping[str, str], streams: Sequence[int]) -> int:
    """In the fork: its exit code."""
    from training.cli import main

    try:
        os.setsid()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        for number, stream in enumerate(streams, start=1):
            os.dup2(stream, number)
        sys.stdout, sys.stderr = (
            os.fdopen(number, "w", buffering=1, encoding="utf-8", closefd=False) for number in (1, 2)
        )
        code = main(list(words))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except Exception:
        logging.getLogger(__name__).exception("The command failed")
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _computed(pid: int) -> float:
    """Seconds that it has computed so far; 0 where nobody can tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _read(stream: int) -> str:
    with os.fdopen(stream, encoding="utf-8", errors="replace") as file:
        file.seek(0)
        return file.read()
