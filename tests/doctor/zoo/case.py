"""What a planted fault is, what repairs it, and how its harm is measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tests.doctor.zoo.kinds import CAUSES
from training.config import RunConfig
from training.config.diff import flatten

if TYPE_CHECKING:
    from tests.doctor.zoo.trial import Trial

Value: TypeAlias = bool | int | float | str | list[Any]
Settings: TypeAlias = dict[str, Value]
"""Settings by their dotted names: ``{"optimizer.lr": 0.1}``."""

Accept: TypeAlias = Callable[[Any], bool]

QUIET: Settings = {"precision.device": "cpu", "precision.threads": 1}
"""So that a run is the same, and as quick, beside others."""


@dataclass(frozen=True)
class Fix:
    """One right repair. ``settings`` says which values repair it, all of them together; without them it is the data or the code that
    has to change, and ``names`` are columns, files, classes or modules of which advice has to name one."""

    words: str
    settings: Mapping[str, Accept] | None = None
    names: tuple[str, ...] = ()

    def fits(self, config: RunConfig) -> bool:
        """Whether ``config`` has what this repair asks for; never, where settings alone repair nothing."""
        if not self.settings:
            return False
        values = flatten(config)
        return all(accept(values.get(name)) for name, accept in self.settings.items())


@dataclass(frozen=True)
class Harm:
    """By how much a case has to be worse than its twin, ``least``, and in what.

    ``by`` validation: the last ``val/METRIC``. fresh: METRIC on the samples in ``fresh``, which neither run has seen. claim: how
    much better val/METRIC is than METRIC on those samples; of the twin that is half of ``least`` at most. speed: samples a
    second, ``least`` being a factor. refused: no run begins, or it fails. A function: its answer for a trial, higher being
    better, and ``words`` say what it answers.
    """

    metric: str
    least: float
    by: Literal["validation", "fresh", "claim", "speed", "refused"] | Callable[[Trial], float] = "validation"
    words: str = ""


@dataclass(frozen=True)
class Case:
    """A run with one planted fault. ``write`` puts its data and files into a folder, with the fault or (False) without it, and answers
    its settings, paths being relative to the folder. ``story`` is how its person would tell it."""

    name: str
    kind: str
    story: str
    fault: str
    write: Callable[[Path, bool], Settings]
    causes: tuple[str, ...]
    fixes: tuple[Fix, ...]
    harm: Harm

    def __post_init__(self) -> None:
        unknown = set(self.causes) - CAUSES.keys()
        if unknown:
            raise ValueError(f"{self.name}: unknown causes {unknown}")

    def accepts(self, config: RunConfig) -> bool:
        """Whether ``config``, which is this case's with some settings changed, is a right repair."""
        return any(fix.fits(config) for fix in self.fixes)


@dataclass(frozen=True)
class Healthy:
    """A run without a fault. ``odd`` is what could be taken for one; ``least`` of val/METRIC shows that it does learn (the most, where
    lower is better)."""

    name: str
    story: str
    odd: str
    write: Callable[[Path], Settings]
    metric: str
    least: float


def between(low: float, high: float) -> Accept:
    """Numbers from ``low`` to ``high``."""
    return lambda value: isinstance(value, int | float) and low <= value <= high


def one_of(*values: Any) -> Accept:
    """One of ``values``."""
    return lambda value: value in values


def has(name: str) -> Accept:
    """Lists with ``name`` in it."""
    return lambda value: isinstance(value, list | tuple) and name in value


def lacks(name: str) -> Accept:
    """Lists that are not empty, without ``name``."""
    return lambda value: isinstance(value, list | tuple) and bool(value) and name not in value


def by_settings(base: Callable[[Path], Settings], fault: Settings) -> Callable[[Path, bool], Settings]:
    """A fault that stands in the settings alone."""
    return lambda folder, faulty: base(folder) | (fault if faulty else {})


def by_network(base: Callable[[Path], Settings], faulty: str, sound: str) -> Callable[[Path, bool], Settings]:
    """A fault in the person's own network: the text of its file with the fault, and without it."""

    def write(folder: Path, fault: bool) -> Settings:
        (folder / "network.py").write_text(faulty if fault else sound)
        kept = {name: value for name, value in base(folder).items() if not name.startswith("model.")}
        return kept | {"model.kind": "user_file", "model.path": "network.py"}

    return write


def write_config(name: str, settings: Settings, folder: Path) -> Path:
    """``settings`` as the TOML file of a run."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in (QUIET | settings).items()]
    path = folder / "config.toml"
    path.write_text("\n".join([f"name = {json.dumps(name)}", *sorted(lines)]) + "\n")
    return path
