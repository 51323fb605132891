"""What becomes of a section's settings when another kind is chosen in it. No Qt."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from studio.state.drafts.setting_specs import (
    Section,
    Settings,
    default_value,
    defaults,
    join_path,
    same_sort,
    specs,
)
from training.config.field_spec import FieldSpec, plain
from training.config.rules.optimizer_scale import Moved, carry_to_scale, move_rates, take_peak
from training.config.rules.schedule_problems import FITS_ANY_RUN
from training.toml_text import Toml


class OtherKinds:
    """The sections of kinds that were left for others, to come back as they were."""

    def __init__(self) -> None:
        self._left: dict[tuple[str, str], _Left] = {}

    def clear(self, but: str = "") -> None:
        """Forget them all, but for those of one section."""
        self._left = {place: left for place, left in self._left.items() if place[0] == but}

    def change(self, settings: Settings, section: str, kind: str) -> tuple[list[str], Moved]:
        """Write another ``kind`` into ``section`` of ``settings``: as it was left, or with what the one before carries over. With
        another optimizer all rates go to its scale. Returns the settings of other sections that changed, and what moved
        when an optimizer was chosen for the first time."""
        is_optimizer = section == "optimizer"
        left = self._left.pop((section, kind), None)
        others = take_peak(settings) if is_optimizer else {}
        for highest, _ in others.values():
            settings["optimizer"] = {**settings["optimizer"], "lr": highest}
        old = settings[section]
        new = settings[section] = left.section if left else _fit_any_run(section, carry_over(section, old, kind))
        rates = move_rates(settings, old, new, left.rates if left else {}) if is_optimizer else {}
        self._left[section, str(old["kind"])] = _Left(old, {path: before for path, (before, _) in rates.items()})
        moved = {path: pair for path, pair in rates.items() if not equal(*pair)}
        first = is_optimizer and not left
        told = {f"optimizer.{name}": pair for name, pair in _differences(old, new)} | moved if first else {}
        return [*others, *moved], told


@dataclass(frozen=True)
class _Left:
    """A ``section`` and, where it is an optimizer, the ``rates`` elsewhere, by dotted path."""

    section: Section
    rates: Section


def carry_over(section: str, old: Section, kind: str) -> Section:
    """Defaults of ``kind``, but for settings both kinds have and that the person changed: a chosen folder stays."""
    values = defaults(section, kind)
    before = specs(section, str(old["kind"]))
    for name, spec in specs(section, kind).items():
        if name in before and same_sort(before[name], spec) and _is_changed(old, name, before):
            values[name] = copy.deepcopy(old[name])
    if section == "optimizer":
        carry_to_scale(old, values)
    return values


def _fit_any_run(section: str, values: Section) -> Section:
    """``values`` with shares of the run where a default is a number of steps, more than a short run has."""
    known = specs(section, str(values["kind"]))
    for path, fitting in FITS_ANY_RUN.items():
        name = path.removeprefix(f"{section}.")
        if name in known and default_value(known[name]) and not _is_changed(values, name, known):
            values[name] = copy.deepcopy(fitting)
    return values


def equal(first: Toml, second: Toml) -> bool:
    """Equal and of one sort: 1 and 1.0 are the same number, True and 1 are not the same thing."""
    return plain(first) == plain(second) and isinstance(first, bool) == isinstance(second, bool)


def changed_settings(before: Settings, after: Settings) -> dict[str, tuple[Toml, Toml]]:
    """Old and new value of each setting that differs, by dotted path; of a section of another kind the kind alone."""
    found: dict[str, tuple[Toml, Toml]] = {}
    for section, new in after.items():
        old = before[section]
        names = ("kind",) if old.get("kind") != new.get("kind") else new
        for name in names:
            if not equal(old.get(name), new[name]):
                found[join_path(section, name)] = old.get(name), new[name]
    return found


def _differences(old: Section, new: Section) -> Iterator[tuple[str, tuple[Toml, Toml]]]:
    """Settings of both whose value was not the default and is another now."""
    before = specs("optimizer", str(old["kind"]))
    for name in before:
        if name in new and _is_changed(old, name, before) and not equal(old[name], new[name]):
            yield name, (old[name], new[name])


def _is_changed(old: Section, name: str, before: Mapping[str, FieldSpec]) -> bool:
    return not equal(old[name], default_value(before[name]))
