"""One attempt: a process of its own that does what ``python -m training`` does, killed at a moment or left to end.

It is forked from a server that has torch loaded, as the program's own workers are: that saves the two seconds of each start
that no moment to kill at lies in.
"""

from __future__ import annotations

import os
import re
import runpy
import secrets
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil

from tests.reliability.kills import injection
from tests.reliability.kills.moments import FromOutside, Trigger
from training.data.batching.processes import worker_context
from training.runs.records.forms import StatusRecord
from training.runs.records.series import read_series
from training.runs.workspace import run_folders

MARK = "TRAINWRIGHT_KILLS_MARK"
LONGEST = 600.0  # seconds that an attempt may take
_ASKING = threading.Lock()  # how a process ended can be read once, and its start asks it of all others


@dataclass(frozen=True)
class Ended:
    """How an attempt ended; ``moment`` is where a kill struck, ``mark`` is in the environment of all its processes."""

    killed: bool
    code: int
    moment: str
    record: StatusRecord  # empty of one that did not complete
    errors: str
    mark: str


def attempt(
    arguments: Sequence[str], workspace: Path, moment: Trigger | FromOutside | None = None, sabotage: str = ""
) -> Ended:
    """Run ``python -m training`` with ``arguments`` in ``workspace`` and kill it at ``moment``, if that comes."""
    mark = secrets.token_hex(8)
    note, output, errors = (workspace / f"{mark}.{name}" for name in ("note", "out", "err"))
    workspace.mkdir(parents=True, exist_ok=True)
    words = [*arguments, "--workspace", str(workspace), "--json"]
    trigger = moment.record() if isinstance(moment, Trigger) else None
    process = worker_context().Process(  # type: ignore[attr-defined]
        target=_train, args=(words, os.environ | {MARK: mark}, output, errors, trigger, note, sabotage)
    )
    with _ASKING:
        process.start()
    try:
        struck = _strike(process, moment, workspace) if isinstance(moment, FromOutside) else ""
        wait([process.sentinel], LONGEST)
        code = _exit_code(process)
    finally:
        with _ASKING:
            process.kill()
            process.join()
            process.close()
    texts = [path.read_text(encoding="utf-8") if path.exists() else "" for path in (note, output, errors)]
    for path in (note, output, errors):
        path.unlink(missing_ok=True)
    if code is None:
        raise TimeoutError(f"{words} was not over after {LONGEST:.0f} s: {texts[2]}")
    where = (struck or _short(texts[0].strip())) if code == -9 else ""
    lines = texts[1].strip().splitlines()
    record = StatusRecord.model_validate_json(lines[-1]) if lines and code == 0 else StatusRecord(run="", status="")
    return Ended(code == -9 and bool(where), code, where, record, texts[2][-3000:], mark)


def _short(moment: str) -> str:
    """Without folders, times and accidental names: "before rename .labels.json.tmp -> labels.json"."""
    named = re.sub(r'/[^>{]*/|, "time".*', "", moment)
    return re.sub(r"[.-][0-9a-f]{8}(?=\.tmp|$| ->)", "", named)


def _train(
    words: list[str],
    environ: dict[str, str],
    output: Path,
    errors: Path,
    trigger: dict[str, Any] | None,
    note: Path,
    sabotage: str,
) -> None:
    """What the process does."""
    for descriptor, path in ((1, output), (2, errors)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), descriptor)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = ["training", *words]
    if sabotage:
        injection.SABOTAGE[sabotage]()
    if trigger is not None:
        injection.wrap_system(injection.Killer(trigger, str(note)))
    runpy.run_module("training", run_name="__main__")


def _exit_code(process: BaseProcess) -> int | None:
    with _ASKING:
        return process.exitcode


def _strike(process: BaseProcess, moment: FromOutside, workspace: Path) -> str:
    """Kill ``process`` when its moment has come; says so, or nothing when it ended before."""
    began = time.monotonic()
    due = began + (moment.delay if moment.rows is None else LONGEST)
    while time.monotonic() < due:
        if _exit_code(process) is not None:
            return ""
        rows = _rows(workspace)
        if rows >= moment.latest:
            break
        if moment.rows is not None and rows >= moment.rows:
            due = min(due, time.monotonic() + moment.delay)
        time.sleep(0.004)
    process.kill()
    since = "its start" if moment.rows is None else f"it had {moment.rows} steps"
    return f"from outside, {moment.delay:.3f} s after {since} or when it had {moment.latest}"


def _rows(workspace: Path) -> int:
    return max((len(read_series(folder.series_file)) for folder in run_folders(workspace)), default=0)


def still_alive(mark: str, seconds: float = 30.0) -> list[str]:
    """Processes of the attempt ``mark`` that outlive it by more than ``seconds``."""
    deadline = time.monotonic() + seconds
    while found := [process for process in psutil.process_iter(["pid", "environ"]) if _carries(process, mark)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    return [f"process {process.pid}" for process in found]


def _carries(process: psutil.Process, mark: str) -> bool:
    return bool((process.info["environ"] or {}).get(MARK) == mark)
