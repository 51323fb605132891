"""Differences between two configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from training.config.describe import describe
from training.config.field_spec import plain
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


def telling(changes: Sequence[Change]) -> list[Change]:
    """``changes`` without what another kind brings along: the old one's settings, and the new one's defaults."""
    usual = _find_defaults(changes)
    return [
        change
        for change in changes
        if (section := change.path.partition(".")[0]) not in usual
        or change.path.endswith(".kind")
        or (change.path in usual[section] and change.new != usual[section][change.path])
    ]


def changes_from_defaults(config: RunConfig) -> list[Change]:
    """What was chosen: kinds, and settings that are not at the default of the kind that was chosen, which is their ``old``."""
    order = {path: place for place, path in enumerate(flatten(config))}
    changes = sorted(diff(RunConfig(), config), key=lambda change: order.get(change.path, len(order)))
    usual = {path: value for found in _find_defaults(changes).values() for path, value in found.items()}
    return [replace(change, old=usual.get(change.path, change.old)) for change in telling(changes)]


def _find_defaults(changes: Sequence[Change]) -> dict[str, dict[str, Any]]:
    """By the section in which another kind was chosen: its settings by their dotted names, at their defaults."""
    chosen = {change.path.partition(".")[0]: str(change.new) for change in changes if change.path.endswith(".kind")}
    return {
        section: {
            f"{section}.{spec.name}": None if spec.default == "" else plain(spec.default)
            for spec in describe(alternatives(section)[kind])
        }
        for section, kind in chosen.items()
    }


def flatten(config: RunConfig) -> dict[str, Toml]:
    """Every setting by its dotted name; None for one that is empty."""
    flat: dict[str, Toml] = {}
    for key, value in config_data(config).items():
        if isinstance(value, dict):
            flat.update({f"{key}.{name}": None if item == "" else item for name, item in value.items()})
        else:
            flat[key] = value
    return flat
