"""A worker that is killed (SIGKILL) at one of its writes to the journal, and again: ``python -m tests.training.sweeps.killed SWEEP WRITE...``

Each life is a fork of this process, which has loaded torch. It ends in the middle of its WRITE-th line, or of a negative WRITE behind it;
the last one works on to the end.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

import optuna.storages.journal as journal

import training.engine.runs.run  # noqa: F401  # once, for all lives
from tests.training.sweeps.in_process import work_here
from training.sweeps.folder import read_sweep


def main(words: list[str]) -> None:
    sweep = Path(words[0])
    for write in [*map(int, words[1:]), 0]:
        child = os.fork()
        if not child:
            live(sweep, write)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) == bool(write), f"life {write}: {status}"


def live(sweep: Path, write: int) -> NoReturn:
    """Work on it, as far as that goes."""
    if write:
        die_at(write)
    os._exit(0 if work_here(read_sweep(sweep))[0] else 1)


def die_at(write: int) -> None:
    append, left = journal.JournalFileBackend.append_logs, abs(write)

    def append_logs(backend: Any, logs: list[dict[str, Any]]) -> None:
        nonlocal left
        left -= 1
        if left:
            append(backend, logs)
            return
        if write < 0:
            append(backend, logs)
        else:
            with Path(backend._file_path).open("ab") as stream:
                stream.write(b'{"op_code":4,"worker')
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(journal.JournalFileBackend, "append_logs", append_logs)  # noqa: B010 - to mypy a method is none


if __name__ == "__main__":
    main(sys.argv[1:])
