"""One attempt: a real ``python -m training`` process, killed at a moment or left to end."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.reliability.kills.moments import FromOutside, Trigger
from training.runs.records.forms import StatusRecord
from training.runs.records.series import read_series
from training.runs.workspace import run_folders

ROOT = Path(__file__).parents[3]
INJECTED = Path(__file__).parent / "injected"
MARK = "TRAINWRIGHT_KILLS_MARK"
LONGEST = 600.0  # seconds that an attempt may take


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
    command = [sys.executable, "-m", "training", *arguments, "--workspace", str(workspace), "--json"]
    with (
        output.open("w") as out,
        errors.open("w") as err,
        subprocess.Popen(
            command, stdout=out, stderr=err, cwd=ROOT, env=_environment(mark, note, moment, sabotage)
        ) as process,
    ):
        try:
            struck = _strike(process, moment, workspace) if isinstance(moment, FromOutside) else ""
            code = process.wait(timeout=LONGEST)
        finally:
            process.kill()
    texts = [path.read_text(encoding="utf-8") if path.exists() else "" for path in (note, output, errors)]
    for path in (note, output, errors):
        path.unlink(missing_ok=True)
    where = (struck or _short(texts[0].strip())) if code == -9 else ""
    lines = texts[1].strip().splitlines()
    record = StatusRecord.model_validate_json(lines[-1]) if lines and code == 0 else StatusRecord(run="", status="")
    return Ended(code == -9 and bool(where), code, where, record, texts[2][-3000:], mark)


def _short(moment: str) -> str:
    """Without folders, times and accidental names: "before rename .labels.json.tmp -> labels.json"."""
    named = re.sub(r'/[^>{]*/|, "time".*', "", moment)
    return re.sub(r"[.-][0-9a-f]{8}(?=\.tmp|$| ->)", "", named)


def _environment(mark: str, note: Path, moment: Trigger | FromOutside | None, sabotage: str) -> dict[str, str]:
    known = os.environ.get("PYTHONPATH")
    paths = [str(INJECTED), str(ROOT), *([known] if known else [])]
    more = {MARK: mark, "PYTHONPATH": os.pathsep.join(paths), "GOMP_SPINCOUNT": "1000"}
    if isinstance(moment, Trigger):
        more |= {"TRAINWRIGHT_KILL": json.dumps(moment.record()), "TRAINWRIGHT_KILL_NOTE": str(note)}
    if sabotage:
        more["TRAINWRIGHT_SABOTAGE"] = sabotage
    return os.environ | more


def _strike(process: subprocess.Popen[bytes], moment: FromOutside, workspace: Path) -> str:
    """Kill ``process`` when its moment has come; says so, or nothing when it ended before."""
    began = time.monotonic()
    due = began + (moment.delay if moment.rows is None else LONGEST)
    while time.monotonic() < due:
        if process.poll() is not None:
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
