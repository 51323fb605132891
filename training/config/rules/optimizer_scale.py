"""What of one optimizer's settings another one takes alike, and what has to move to its scale."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeGuard

from pydantic import ValidationError

from training.config.run import RunConfig, alternatives
from training.config.sections.optimizer import OptimizerSection
from training.toml_text import Toml

Moved = dict[str, tuple[Toml, Toml]]
"""What stood in a setting and what does now, by dotted path."""

OTHER_RATES = ("schedule.eta_min", "schedule.min_lr", "loop.swa_lr")
"""Settings that are learning rates themselves and move with the optimizer's."""

_DECOUPLED = ("adamw", "muon")
_MUON_FACTOR = 20.0
"""How much higher Muon's rates are where its steps are not made as large as AdamW's."""


def rescale(data: dict[str, Toml], before: Mapping[str, Toml], named: Collection[str]) -> Moved:
    """Bring what stands in ``data`` to the scale of its optimizer, where that is another one than the section ``before`` had;
    both may leave settings out. Those ``named``, by dotted path, stay, and all do where ``before`` has a wrong value: that is to
    be told first. Returns what moved."""
    section = data["optimizer"]
    assert isinstance(section, dict)
    kind, chosen = _kind(before), _kind(section)
    if kind == chosen or not {kind, chosen} <= alternatives("optimizer").keys():
        return {}
    try:
        checked = alternatives("optimizer")[kind].model_validate({"kind": kind, **before})
        old: dict[str, Toml] = checked.model_dump(mode="json")
    except ValidationError:
        return {}
    peak = take_peak(data) if "schedule.max_lr" not in named else {}
    if peak:
        old["lr"] = peak["schedule.max_lr"][0]
        section.setdefault("lr", old["lr"])
    was = dict(section)
    carry_to_scale(old, section, but=named)
    moved = {f"optimizer.{name}": (value, section[name]) for name, value in was.items() if section[name] != value}
    rate = old["lr"]
    assert _is_rate(rate), "was checked"
    scale = _scale_rate(rate, old, chosen)  # whatever rate is named
    rates = move_rates(data, old, {"lr": scale}, but=named)
    return {**moved, **{path: pair for path, pair in rates.items() if pair[0] != pair[1]}}


def take_peak(data: Mapping[str, Toml]) -> Moved:
    """A highest rate that the schedule has for itself is to become the optimizer's: take it out of the section ``schedule``."""
    schedule = data.get("schedule")
    if not isinstance(schedule, dict) or not _is_rate(highest := schedule.get("max_lr")):
        return {}
    schedule["max_lr"] = None
    return {"schedule.max_lr": (highest, None)}


def carry_to_scale(old: Mapping[str, Toml], new: dict[str, Toml], but: Collection[str] = ()) -> None:
    """Bring ``new``, whose settings were taken over from the whole section ``old`` of another kind, to its kind's scale: what was
    changed stays where both take it alike, and the same number under another default is another thing."""
    before, usual = _defaults(_kind(old)), _defaults(_kind(new))
    carried = [name for name in new if name in before and name in usual and f"optimizer.{name}" not in but]
    for name in carried:
        if name != "kind" and before[name] != usual[name]:
            new[name] = usual[name]
    if "weight_decay" in carried:
        alike = _decay(old) == _decay(usual | new) and old["weight_decay"] != before["weight_decay"]
        new["weight_decay"] = (old if alike else usual)["weight_decay"]
    if "lr" in carried and _is_rate(rate := old["lr"]):
        new["lr"] = _scale_rate(rate, old, _kind(new))


def move_rates(
    data: Mapping[str, Toml],
    old: Mapping[str, Toml],
    new: Mapping[str, Toml],
    left: Mapping[str, Toml] | None = None,
    but: Collection[str] = (),
) -> Moved:
    """Take the rates beside the optimizer's along with it, from the section ``old`` to ``new``: to what they were ``left`` at,
    or by the same factor. Returns also those that came out the same."""
    before, after = old["lr"], new["lr"]
    factor = after / before if _is_rate(before) and _is_rate(after) else 1.0
    rates: Moved = {}
    for path in OTHER_RATES:
        section, name = path.split(".")
        place = data.get(section)
        if path not in but and isinstance(place, dict) and _is_rate(rate := place.get(name)):
            place[name] = (left or {}).get(path, _round_rate(rate * factor) if factor != 1.0 else rate)
            rates[path] = (rate, place[name])
    return rates


def _kind(section: Mapping[str, Toml]) -> str:
    return str(section.get("kind", RunConfig.model_fields["optimizer"].default.kind))


def _defaults(kind: str) -> dict[str, Toml]:
    values: dict[str, Toml] = alternatives("optimizer")[kind]().model_dump(mode="json")
    return values


def _default_rate(kind: str) -> float:
    section = alternatives("optimizer")[kind]()
    assert isinstance(section, OptimizerSection)
    return section.lr


def _scale_rate(rate: float, optimizer: Mapping[str, Toml], kind: str) -> float:
    """``rate`` of the section ``optimizer`` for an optimizer of another ``kind``.

    On the same scale it stays. A careful rate, as for fine-tuning, stays as careful. Any other becomes the usual one: how far
    an optimizer can be pushed on a network says nothing about the next.
    """
    matched = optimizer.get("adjust_lr_fn", "match_rms_adamw") == "match_rms_adamw"
    usual, new_usual = _default_rate(_kind(optimizer)) * (1.0 if matched else _MUON_FACTOR), _default_rate(kind)
    if usual == new_usual:
        return rate
    return new_usual if rate >= usual else _round_rate(rate * (new_usual / usual))


def _round_rate(rate: float) -> float:
    """In the figures a person would type."""
    return float(f"{rate:.3g}")


def _decay(optimizer: Mapping[str, Toml]) -> str:
    """What its weight decay acts on: the same number is as much for two that agree in this."""
    if optimizer["kind"] == "adafactor":
        return "at a rate ten times as high"
    decoupled = optimizer.get("decoupled_weight_decay", optimizer["kind"] in _DECOUPLED)
    return "of the weights" if decoupled else "in the gradient"


def _is_rate(value: Toml) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
