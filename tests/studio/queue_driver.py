"""A queue with something in it, and processes that work it off as far as anybody can see."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from training.config import parse_config
from training.queue.entries import Entry
from training.queue.store import Queue
from training.runs.folder import RunFolder, create_run

_WORKING = """
import sys
from pathlib import Path
from training.queue.store import Queue
from training.queue.workers import be_worker
with be_worker(Queue(Path(sys.argv[1])), sys.argv[2]):
    print("here", flush=True)
    sys.stdin.read()
"""


def add(workspace: Path, *names: str) -> list[Entry]:
    """Queue a run of each name."""
    return [Queue(workspace).add(parse_config({"name": name})) for name in names]


def names(workspace: Path) -> list[str]:
    """Of those that wait, in their order."""
    return [entry.name for entry in Queue(workspace).read().waiting]


def begin(workspace: Path, entry: Entry, worker: str = "any", **changes: object) -> RunFolder:
    """An entry that a worker has, or had, with its run."""
    run = create_run(workspace, parse_config({"name": entry.name}))
    began = {"step": 12, "total_steps": 40, "status": "running"}
    run.write_status(run.status().model_copy(update=began))
    Queue(workspace).note(entry.id, **({"state": "at work", "worker": worker, "run": run.id, "began": 1.0} | changes))
    return run


@contextmanager
def worker_process(workspace: Path, device: str = "any") -> Iterator[subprocess.Popen[str]]:
    """A process that is the worker of ``device``, and trains nothing."""
    command = [sys.executable, "-c", _WORKING, str(workspace), device]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        yield process
        process.kill()
