"""A case is written and trained through the command line; what came of it is kept, so that the next call goes on."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.doctor.zoo.case import Case, Healthy, Settings, write_config

ROOT = Path(__file__).parents[3]
LONGEST = 300
"""Seconds until a run is given up."""


@dataclass(frozen=True)
class Trial:
    """A folder with data, config.toml and the workspace of one run, and ``outcome`` of it."""

    folder: Path
    outcome: Mapping[str, Any]

    @property
    def completed(self) -> bool:
        return self.outcome["code"] == 0

    @property
    def run(self) -> Path | None:
        """The run's own folder; None where none began."""
        runs = sorted((self.folder / "workspace" / "runs").glob("*/config.toml"))
        return runs[0].parent if runs else None

    def metric(self, name: str) -> float:
        """The last validation's; NaN of a run that did not complete."""
        value = self.outcome["record"].get("metrics", {}).get(f"val/{name}") if self.completed else None
        return float("nan") if value is None else float(value)


def trials(case: Case | Healthy) -> Iterator[tuple[str, Callable[[Path], Settings]]]:
    """The parts of a case: each with its name and what writes it."""
    if isinstance(case, Healthy):
        yield "healthy", case.write
        return
    yield "case", lambda folder: case.write(folder, True)
    yield "twin", lambda folder: case.write(folder, False)


def write_trial(case: Case | Healthy, part: str, folder: Path) -> Path:
    """Write ``part`` of ``case`` into the empty ``folder``; returns its configuration."""
    return write_config(case.name, dict(trials(case))[part](folder), folder)


def run_trial(case: Case | Healthy, part: str, out: Path) -> Trial:
    """Train ``part`` of ``case`` in ``out``/NAME/PART, unless the very same was trained there before."""
    folder, again = out / case.name / part, out / case.name / f"{part}.again"
    shutil.rmtree(again, ignore_errors=True)
    kept = read_trial(folder)
    if kept is not None:
        again.mkdir()
        write_trial(case, part, again)
        digest = _digest(again)
        shutil.rmtree(again)
        if kept.outcome["digest"] == digest:
            return kept
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_trial(case, part, folder)
    digest = _digest(folder)
    began = time.monotonic()
    code, record, said = command(["run", "config.toml", "--json", "--trust"], folder)
    outcome = {"digest": digest, "code": code, "seconds": time.monotonic() - began, "record": record, "said": said}
    (folder / "outcome.json").write_text(json.dumps(outcome))
    return Trial(folder, outcome)


def read_trial(folder: Path) -> Trial | None:
    """What ``run_trial`` kept; None where it never came to an end."""
    try:
        return Trial(folder, json.loads((folder / "outcome.json").read_text()))
    except (FileNotFoundError, ValueError):
        return None


def command(words: list[str], folder: Path) -> tuple[int, dict[str, Any], str]:
    """``python -m training`` in ``folder``, whose workspace and home are its own: exit code, the object of ``--json``, and the last lines
    of what it said. 124 for one that took too long."""
    environment = os.environ | surroundings(folder) | {"PYTHONPATH": str(ROOT)}
    call = [sys.executable, "-m", "training", *words]
    try:
        done = subprocess.run(
            call, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return 124, {}, f"took more than {LONGEST} s"
    lines = done.stdout.strip().splitlines()
    record = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
    return done.returncode, record, "\n".join(done.stderr.strip().splitlines()[-12:])


def surroundings(folder: Path) -> dict[str, str]:
    """Environment variables by which no file of the person's own is touched, consents among them."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    places = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "CACHE", "STATE")}
    return {"HOME": str(home), "USERPROFILE": str(home), "TRAINWRIGHT_WORKSPACE": str(folder / "workspace"), **places}


def _digest(folder: Path) -> str:
    """Of all files below ``folder``, wherever that is: a Dataset may name its files by their whole path."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes().replace(str(folder).encode(), b"")
        digest.update(str(file.relative_to(folder)).encode() + b"\0" + hashlib.sha256(content).digest())
    return digest.hexdigest()
