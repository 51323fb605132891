"""Differences between two configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from training.config.describe import describe
from training.config.files import config_data
from training.config.run import SECTIONS, RunConfig, alternatives
from training.toml_text import Toml

_DECIDE_ROLL_BACKS = ("loop.max_skipped_steps", "checkpoints.every_steps")
"""When a run goes back, and to where."""


@dataclass(frozen=True)
class Change:
    """One setting that differs; ``old`` or ``new`` is None where the setting is absent or empty."""

    path: str
    old: Any  # as the setting is declared
    new: Any
    decides_roll_back: bool = False  # it changes no result by itself, but these runs may go back to a checkpoint

    def __str__(self) -> str:
        old, new = ("none" if value is None else value for value in (self.old, self.new))
        return f"{self.path}: {old} → {new}"

    @property
    def affects_result(self) -> bool:
        """Whether the two runs can end in different weights or metrics because of this setting."""
        if self.decides_roll_back:
            return True
        section, _, name = self.path.partition(".")
        if section not in SECTIONS:
            return section not in ("name", "muted_findings")
        specs = (spec for cls in alternatives(section).values() for spec in describe(cls) if spec.name == name)
        return next((spec.affects_result for spec in specs), True)


def diff(old: RunConfig, new: RunConfig) -> list[Change]:
    """Settings that differ, in the order of the file."""
    left, right = flatten(old), flatten(new)
    roll_back = "roll_back" in (old.loop.after_skips, new.loop.after_skips)
    return [
        Change(path, left.get(path), right.get(path), roll_back and path in _DECIDE_ROLL_BACKS)
        for path in dict.fromkeys([*left, *right])
        if left.get(path) != right.get(path)
    ]


def flatten(config: RunConfig) -> dict[str, Toml]:
    """Every setting by its dotted name; None for one that is empty."""
    flat: dict[str, Toml] = {}
    for key, value in config_data(config).items():
        if isinstance(value, dict):
            flat.update({f"{key}.{name}": None if item == "" else item for name, item in value.items()})
        else:
            flat[key] = value
    return flat
