"""Which runs are repeats of each other, and which settings tell others apart. Pure functions of flattened settings, as
``training.config.diff.flatten`` gives them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np

from training.config.diff import Change
from training.toml_text import Toml

Settings = Mapping[str, Toml]
Key = TypeVar("Key", bound=Hashable)
SEED = "seed"
"""What repeats of a run may differ in."""


@cache
def decides(path: str) -> bool:
    """Whether the setting has a say in what a run becomes: not its name, nor how many workers read its data."""
    return Change(path, None, None).affects_result


def recipe(settings: Settings) -> str:
    """A digest of everything but the seed: runs of one recipe are repeats of each other."""
    told = {path: value for path, value in settings.items() if path != SEED and value is not None and decides(path)}
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:32]


def differing(runs: Iterable[Settings]) -> list[str]:
    """The settings that are not the same in all of ``runs``, in the order of the first that has them; the name is none."""
    known = list(runs)
    paths = dict.fromkeys(path for settings in known for path in settings if path != "name")
    return [path for path in paths if any(each.get(path) != known[0].get(path) for each in known[1:])]


def group_by(keys: Mapping[str, Key]) -> dict[Key, list[str]]:
    """The runs of each key, both in the order of ``keys``: run -> what it is grouped by, such as its recipe or the values of
    several settings."""
    groups: dict[Key, list[str]] = {}
    for run, key in keys.items():
        groups.setdefault(key, []).append(run)
    return groups


@dataclass(frozen=True)
class Spread:
    """The mean of ``n`` values and their sample standard deviation; ``std`` is None of a single one."""

    n: int
    mean: float
    std: float | None


def spread(values: Sequence[float | None]) -> Spread | None:
    """Of those that are finite numbers; None where there are none."""
    found = np.array([value for value in values if value is not None], dtype=np.float64)
    found = found[np.isfinite(found)]
    if not len(found):
        return None
    return Spread(len(found), float(found.mean()), float(found.std(ddof=1)) if len(found) > 1 else None)
