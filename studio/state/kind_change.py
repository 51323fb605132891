"""What becomes of a section's settings when another kind is chosen in it. No Qt."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from studio.state.setting_specs import default_value, defaults, plain, same_sort, specs, split_path
from training.config.describe import FieldSpec
from training.config.optimizer_scale import OTHER_RATES, decay_alike, moved_rate, scaled, usual_rate

Data = dict[str, Any]
Moved = dict[str, tuple[Any, Any]]
"""What stood in a setting and what does now, by dotted path."""


class OtherKinds:
    """The sections of kinds that were left for others, to come back as they were."""

    def __init__(self) -> None:
        self._left: dict[tuple[str, str], _Left] = {}

    def clear(self, but: str = "") -> None:
        """Forget them all, but for those of one section."""
        self._left = {place: left for place, left in self._left.items() if place[0] == but}

    def change(self, data: Data, section: str, kind: str) -> tuple[list[str], Moved]:
        """Write another ``kind`` into ``section`` of ``data``: as it was left, or with what the one before carries over. With
        another optimizer all rates go to its scale. Returns the settings of other sections that changed, and what moved
        when an optimizer was chosen for the first time."""
        is_optimizer = section == "optimizer"
        left = self._left.pop((section, kind), None)
        others = _take_peak(data) if is_optimizer else {}
        old = data[section]
        new = data[section] = left.section if left else carry_over(section, old, kind)
        rates = _move_rates(data, old, new, left.rates if left else {}) if is_optimizer else {}
        self._left[section, str(old["kind"])] = _Left(old, {path: before for path, (before, _) in rates.items()})
        moved = {path: pair for path, pair in rates.items() if not equal(*pair)}
        first = is_optimizer and not left
        told = {f"optimizer.{name}": pair for name, pair in _differences(old, new)} | moved if first else {}
        return [*others, *moved], told


@dataclass(frozen=True)
class _Left:
    """A ``section`` and, where it is an optimizer, the ``rates`` elsewhere, by dotted path."""

    section: Data
    rates: Data


def carry_over(section: str, old: Data, kind: str) -> Data:
    """Defaults of ``kind``, but for settings both kinds have and that the person changed: a chosen folder stays."""
    values = defaults(section, kind)
    before = specs(section, str(old["kind"]))
    for name, spec in specs(section, kind).items():
        if name in before and same_sort(before[name], spec) and _is_changed(old, name, before):
            values[name] = copy.deepcopy(old[name])
    return _on_its_scale(old, values) if section == "optimizer" else values


def _on_its_scale(old: Data, new: Data) -> Data:
    """What was changed stays where both optimizers take it alike: the same number under another default is another thing."""
    before, usual = specs("optimizer", old["kind"]), defaults("optimizer", new["kind"])
    for name in before.keys() & usual.keys():
        if not equal(default_value(before[name]), usual[name]):
            new[name] = usual[name]
    alike = decay_alike(old, new) and _is_changed(old, "weight_decay", before)
    new["weight_decay"] = (old if alike else usual)["weight_decay"]
    if _is_rate(old["lr"]):
        new["lr"] = moved_rate(old["lr"], usual_rate(old, default_value(before["lr"])), usual["lr"])
    return new


def _take_peak(data: Data) -> Moved:
    """A highest rate that the schedule has for itself becomes the optimizer's learning rate."""
    highest = data["schedule"].get("max_lr")
    if not _is_rate(highest):
        return {}
    data["optimizer"] = {**data["optimizer"], "lr": highest}
    data["schedule"]["max_lr"] = None
    return {"schedule.max_lr": (highest, None)}


def _move_rates(data: Data, old: Data, new: Data, left: Mapping[str, Any]) -> Moved:
    """Take the rates beside the optimizer's along with it: to what they were ``left`` at, or by the same factor."""
    factor = new["lr"] / old["lr"] if _is_rate(old["lr"]) and _is_rate(new["lr"]) else 1.0
    rates: Moved = {}
    for path in OTHER_RATES:
        section, name = split_path(path)
        rate = data[section].get(name)
        if _is_rate(rate):
            data[section][name] = left.get(path, scaled(rate, factor))
            rates[path] = (rate, data[section][name])
    return rates


def equal(first: Any, second: Any) -> bool:
    """Equal and of one sort: 1 and 1.0 are the same number, True and 1 are not the same thing."""
    return plain(first) == plain(second) and isinstance(first, bool) == isinstance(second, bool)


def _differences(old: Data, new: Data) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Settings of both whose value was not the default and is another now."""
    before = specs("optimizer", old["kind"])
    for name in before:
        if name in new and _is_changed(old, name, before) and not equal(old[name], new[name]):
            yield name, (old[name], new[name])


def _is_changed(old: Data, name: str, before: Mapping[str, FieldSpec]) -> bool:
    return not equal(old[name], default_value(before[name]))


def _is_rate(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
