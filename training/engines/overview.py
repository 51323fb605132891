"""All engines as they are told: where each is, what it can, what it lacks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from training.engines.answer import Answer, State, Verdict
from training.engines.places import ENGINE_FILE, read_record
from training.engines.requirements import Requirement, list_requirements
from training.engines.search import ORIGINS, Found, find_engines, identify, interpreter_of
from training.engines.trial import find_answer, judge_engine
from training.errors import InputError
from training.typed_paths import parse_path

STATES: dict[State, str] = {
    "ready": "ready",
    "limited": "ready, with parts left out",
    "unfit": "cannot train",
    "gone": "is gone",
}


@dataclass(frozen=True)
class Engine:
    """``answer`` and ``verdict`` are those of its last trial; None where it was not tried since it changed. ``told`` is what its
    installation said: another build came than was asked for."""

    found: Found
    answer: Answer | None = None
    verdict: Verdict | None = None
    told: str = ""

    @property
    def python(self) -> str:
        """Its interpreter."""
        return self.found.python

    @property
    def is_ours(self) -> bool:
        """Whether it was installed by us, and can be deleted."""
        return self.found.origin == "installed"

    @property
    def can_train(self) -> bool:
        """Whether its trial said so."""
        return self.verdict is not None and self.verdict.state in ("ready", "limited")

    def describe(self) -> str:
        """Versions and devices, in a line; "" before it was tried."""
        if self.answer is None or not self.answer.python:
            return ""
        parts = [f"Python {self.answer.python}"]
        if self.answer.torch:
            parts.append(f"PyTorch {self.answer.torch}")
            parts.append(self.answer.build)
            parts += [str(gpu) for gpu in self.answer.gpus] or ["no GPU"]
        return " · ".join(dict.fromkeys(parts))

    def dump(self) -> dict[str, JsonValue]:
        """For ``--json``."""
        record: dict[str, JsonValue] = {
            "name": self.found.name,
            "python": self.python,
            "origin": self.found.origin,
            "state": self.verdict.state if self.verdict else None,
        }
        if self.verdict is not None:
            record |= {"problem": self.verdict.problem, "remedy": self.verdict.remedy, "lacks": [*self.verdict.lacks]}
        if self.answer is not None:
            facts: dict[str, Any] = self.answer.model_dump(mode="json", include=_TOLD)
            record |= {**facts, "build": self.answer.build}
        return record | ({"told": self.told} if self.told else {})


_TOLD = {"torch", "torchvision", "training", "devices", "memory"}


def look_at_engines() -> list[Engine]:
    """All that are here, with what is known of them; nothing is started."""
    requirements = list_requirements()
    return [look_at(found, requirements) for found in find_engines()]


def look_at(found: Found, requirements: list[Requirement] | None = None) -> Engine:
    """One of them."""
    answer = find_answer(found.python)
    verdict = judge_engine(found.python, answer, requirements) if answer is not None else None
    record = read_record(Path(found.python).parent.parent / ENGINE_FILE) if found.origin == "installed" else {}
    return Engine(found, answer, verdict, str(record.get("told") or ""))


def find_engine(text: str) -> Found:
    """The engine that ``text`` means: a name, an interpreter's file, or an environment's folder. Raises InputError."""
    known = find_engines()
    named = [each for each in known if each.name == text]
    if len(named) == 1:
        return named[0]
    if len(named) > 1:
        raise InputError(
            f"{text}: there are {len(named)} engines of this name: {', '.join(each.python for each in named)}.",
            "Give the file of one of them.",
        )
    if not parse_path(text).exists():
        raise InputError(
            f"There is no engine and no file {text}.", "python -m training engines list tells which there are."
        )
    python = find_interpreter(text)
    same = [each for each in known if identify(each.python) == identify(str(python))]
    return same[0] if same else Found(str(python), "added", python.parent.parent.name)


def find_interpreter(text: str) -> Path:
    """The interpreter that a person named by its file or its environment's folder. Raises InputError."""
    path = parse_path(text).absolute()
    if path.is_dir():
        places = [interpreter_of(path), interpreter_of(path / ".venv"), path / "python.exe", path / "bin" / "python3"]
        python = next((each for each in places if each.is_file()), None)
        if python is None:
            raise InputError(f"{path} is no environment: there is no Python in it.", "Choose its python program.")
        return python
    if not path.is_file():
        raise InputError(f"There is no file {path}.", "Give the folder of an environment, or its python program.")
    return path


def explain_origin(found: Found) -> str:
    """Where it was found, in words."""
    return ORIGINS[found.origin]
