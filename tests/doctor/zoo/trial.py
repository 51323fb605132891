"""A case is written and trained through the command line; what came of it is kept, so that the next call goes on."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tests.doctor.zoo.case import Case, Healthy, Settings, write_config
from tests.doctor.zoo.fork import run_words

ROOT = Path(__file__).parents[3]
LONGEST = 300
"""Seconds of computing until a run is given up."""


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


def run_trial(case: Case | Healthy, part: str, out: Path, write: Callable[[Path], object] | None = None) -> Trial:
    """Train ``part`` of ``case`` in ``out``/NAME/PART, unless the very same was trained there before. ``write`` writes the folder where
    it is none of the case's own parts."""
    folder, again = out / case.name / part, out / case.name / f"{part}.again"
    write = write or (lambda place: write_trial(case, part, place))
    shutil.rmtree(again, ignore_errors=True)
    kept = read_trial(folder)
    if kept is not None:
        again.mkdir()
        write(again)
        digest = _digest(again)
        shutil.rmtree(again)
        if kept.outcome["digest"] == digest:
            return kept
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write(folder)
    digest = _digest(folder)
    answer = ask(["run", "config.toml", "--json", "--trust"], folder)
    outcome = {"digest": digest, **answer._asdict()}
    (folder / "outcome.json").write_text(json.dumps(outcome))
    return Trial(folder, outcome)


def read_trial(folder: Path) -> Trial | None:
    """What ``run_trial`` kept; None where it never came to an end."""
    try:
        return Trial(folder, json.loads((folder / "outcome.json").read_text()))
    except (FileNotFoundError, ValueError):
        return None


class Answer(NamedTuple):
    """Of a command: exit code (124: it took too long), the object of ``--json``, the last lines of what it said, and for how many
    seconds it computed."""

    code: int
    record: dict[str, Any]
    said: str
    seconds: float


def command(words: list[str], folder: Path) -> tuple[int, dict[str, Any], str]:
    """``ask``, without the time."""
    return ask(words, folder)[:3]


def ask(words: list[str], folder: Path) -> Answer:
    """``python -m training`` in ``folder``, whose workspace and home are its own."""
    environment = os.environ | surroundings(folder) | {"PYTHONPATH": str(ROOT)}
    done = run_words(words, folder, environment, LONGEST)
    lines = done.out.strip().splitlines()
    record = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
    return Answer(done.code, record, "\n".join(done.err.strip().splitlines()[-12:]), done.seconds)


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
