"""One setting that a sweep varies: what is typed for it, its bounds and type from its declaration where nobody gave them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from pydantic import JsonValue

from training.config.field_spec import FieldSpec
from training.errors import InputError

Sort = Literal["float", "int", "choice"]
Value: TypeAlias = float | int | str
"""Of a choice the text that ``--set`` takes."""

_NUMBER = r"[+-]?(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_RANGE = re.compile(
    rf"\s*({_NUMBER})\s*:\s*({_NUMBER})\s*(?::\s*(log|linear|step\s*=\s*({_NUMBER}))\s*)?(?::\s*([0-9]+)\s*)?"
)
_WIDEST = 1000
"""Whole numbers declared from 1 to more than this are a limit of the program, and no range that anybody means to search."""
_MOST_VALUES = 100
"""Whole numbers, or steps, that a grid takes one by one."""
_ROUNDING = 1e-6
"""Part of a step."""


@dataclass(frozen=True)
class Dimension:
    """``path`` is the dotted setting. A range has ``low`` and ``high``, both included, by ratio where ``log``, and nothing between two
    ``step`` from each other where there is one; ``points`` are the values that a grid takes of it, None for every step or whole number. A
    choice has ``choices``."""

    path: str
    sort: Sort
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    points: int | None = None
    choices: tuple[str, ...] = ()
    step: float | None = None

    def dump(self) -> dict[str, JsonValue]:
        """As JSON has it."""
        if self.sort == "choice":
            return {"path": self.path, "sort": self.sort, "choices": list(self.choices)}
        return {name: value for name, value in asdict(self).items() if name != "choices" and value is not None}

    @property
    def words(self) -> str:
        """What it may be, in a few words."""
        if self.sort == "choice":
            return " | ".join(self.choices)
        scale = ", by ratio" if self.log else ""
        scale = f", in steps of {show_value(self.step, self.sort)}" if self.step is not None else scale
        return f"{show_value(self.low, self.sort)} to {show_value(self.high, self.sort)}{scale}"

    @property
    def extremes(self) -> tuple[Value, ...]:
        """All choices, or both ends of the range: where they are allowed, so is what lies between."""
        return self.choices if self.sort == "choice" else (self._number(self.low), self._number(self.high))

    def place(self, value: Value) -> float | None:
        """Where ``value`` lies from 0 to 1, for an axis; None where it is no value of this."""
        if self.sort == "choice":
            last = max(len(self.choices) - 1, 1)
            return self.choices.index(str(value)) / last if value in self.choices else None
        if isinstance(value, str) or not self.low <= value <= self.high:
            return None
        low, high, at = (math.log(x) if self.log else float(x) for x in (self.low, self.high, value))
        return (at - low) / (high - low) if high > low else 0.5

    def values(self) -> list[Value]:
        """What a grid takes of it. Raises InputError where that is not said."""
        if self.sort == "choice":
            return list(self.choices)
        if self.points is None and self.step is not None:
            last = round((self.high - self.low) / self.step)
            if last < _MOST_VALUES:
                return [self._number(float(f"{self.low + number * self.step:.12g}")) for number in range(last + 1)]
            raise InputError(
                f"--vary {self.path}: these are {last + 1:,} values, and a grid takes {_MOST_VALUES} of a range at the most; take a larger step, "
                "or list the values with |."
            )
        if self.points is None:
            count = int(self.high) - int(self.low) + 1
            if self.sort == "int" and count <= _MOST_VALUES:
                return list(range(int(self.low), int(self.high) + 1))
            raise InputError(
                f"--vary {self.path}: a grid needs to know how many values to take; add their number, "
                f"{self.path}={show_value(self.low, self.sort)}:{show_value(self.high, self.sort)}{':log' if self.log else ''}:5, or list them with |."
            )
        shares = [number / (self.points - 1) for number in range(self.points)]
        if self.log:
            inner = [self.low * (self.high / self.low) ** share for share in shares]
        else:
            inner = [self.low + (self.high - self.low) * share for share in shares]
        found = [
            self.low,
            *(float(f"{value:.12g}") for value in inner[1:-1]),
            self.high,
        ]  # 0.001, not 0.0009999999999999998
        return list(dict.fromkeys(self._number(value) for value in found))

    def read(self, text: str) -> Value:
        """A value that a person gives, as it is kept. Raises InputError for what is not in the range, or none of the choices."""
        if self.sort == "choice":
            known = {_normalize(choice): choice for choice in self.choices}
            if (found := known.get(_normalize(text))) is None:
                raise InputError(f"--set {self.path}={text}: the sweep tries {self.words}; give one of these.")
            return found
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not self.low <= number <= self.high or (self.sort == "int" and number != round(number)):
            kind = "a whole number" if self.sort == "int" else "a number"
            raise InputError(f"--set {self.path}={text}: must be {kind} in the sweep's range, {self.words}.")
        if self.step is not None and not _divides(self.step, number - self.low):
            raise InputError(f"--set {self.path}={text}: must be a step of the sweep's range, {self.words}.")
        return self._number(number)

    def _number(self, value: float) -> Value:
        return round(value) if self.sort == "int" else float(value)


def load_dimension(data: object) -> Dimension:
    """What ``Dimension.dump`` made. Raises TypeError, ValueError, KeyError for anything else."""
    if not isinstance(data, dict) or data["sort"] not in ("float", "int", "choice"):
        raise ValueError("no dimension of a sweep")
    choices = tuple(str(choice) for choice in data.get("choices", ()))
    points = data.get("points")
    return Dimension(
        str(data["path"]),
        data["sort"],
        float(data.get("low", 0.0)),
        float(data.get("high", 0.0)),
        data.get("log") is True,
        int(points) if points is not None else None,
        choices,
        None if data.get("step") is None else float(data["step"]),
    )


def read_dimension(path: str, text: str | None, specs: Sequence[FieldSpec], kinds: Sequence[str] = ()) -> Dimension:
    """The dimension that ``--vary path`` or ``--vary path=text`` asks for; ``specs`` are the declarations that the setting has, one for
    each kind of its section that may be chosen, ``kinds`` the choices of a section's kind.

    Raises InputError where that is neither a range nor a list, and where nothing is given and nothing declared.
    """
    spec = specs[0] if specs else None
    if text is None:
        return _read_declared(path, spec, kinds)
    parts = split_choices(text)
    if len(parts) > 1:
        return _read_choices(path, text, parts)
    match = _RANGE.fullmatch(text)
    if match is None:
        raise InputError(
            f"--vary {path}={text}: must be a range, LOW:HIGH, LOW:HIGH:log or LOW:HIGH:step=STEP, or a list of values with | between them, "
            f"for example {path}=1e-4:1e-1:log or {path}=16|32|64."
        )
    return _read_range(path, text, match, spec)


def propose_text(spec: FieldSpec | None, value: JsonValue, kinds: Sequence[str] = ()) -> str:
    """What ``--vary path=`` may be for who has given nothing yet: the bounds or choices that are declared, else a range around ``value``
    inside of what is; "" where neither tells."""
    if kinds or spec is None or spec.editor in ("bool", "choice"):
        choices = tuple(kinds) or (("false", "true") if spec is not None and spec.editor == "bool" else ())
        choices = choices or (spec.choices if spec is not None else ())
        return "|".join(choices) if len(choices) > 1 else ""
    if spec.editor not in ("int", "float"):
        return ""
    try:
        found = _read_declared("", spec, ())
    except InputError:
        return _propose_around(spec, value)
    low, high, width = found.low, found.high, found.high - found.low
    if found.sort == "float":  # at a distance from an end that is not allowed
        low, high = low + 0.01 * width * spec.exclusive_minimum, high - 0.1 * width * spec.exclusive_maximum
    ends = (show_value(low, found.sort), show_value(high, found.sort))
    return f"{ends[0]}:{ends[1]}:{'log' if found.log else 'linear'}"


def _propose_around(spec: FieldSpec, value: JsonValue) -> str:
    """On a logarithmic scale a decade to either side, of whole numbers a quarter to fourfold; else from a half to the double."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return ""
    factor = (4.0 if spec.editor == "int" else 10.0) if spec.log_scale else 2.0
    low, high = value / factor, value * factor
    if spec.editor == "int":
        low, high = float(max(round(low), 1)), float(round(high))
    low = low if spec.minimum is None else max(low, spec.minimum)
    high = high if spec.maximum is None else min(high, spec.maximum)
    sort: Sort = "int" if spec.editor == "int" else "float"
    ends = (show_value(low, sort), show_value(high, sort))
    return f"{ends[0]}:{ends[1]}:{'log' if spec.log_scale else 'linear'}" if low < high else ""


def _read_declared(path: str, spec: FieldSpec | None, kinds: Sequence[str]) -> Dimension:
    if kinds:
        return Dimension(path, "choice", choices=tuple(kinds))
    if spec is not None and spec.editor == "bool":
        return Dimension(path, "choice", choices=("false", "true"))
    if spec is not None and spec.editor == "choice":
        return Dimension(path, "choice", choices=spec.choices)
    if spec is None or spec.editor not in ("int", "float") or spec.minimum is None or spec.maximum is None:
        raise InputError(
            f"--vary {path}: its declaration has no bounds to search between; give a range, {path}=LOW:HIGH, or a list of values with | "
            "between them."
        )
    low, high = float(spec.minimum), float(spec.maximum)
    is_int = spec.editor == "int"
    if spec.exclusive_minimum:
        low = low + 1 if is_int else math.nextafter(low, math.inf)
    if spec.exclusive_maximum:
        high = high - 1 if is_int else math.nextafter(high, -math.inf)
    endless = spec.log_scale and spec.minimum <= 0
    if endless or (is_int and high - low > _WIDEST):
        why = "reach down to 0 on a logarithmic scale" if endless else f"are {low:,.0f} and {high:,.0f}"
        raise InputError(f"--vary {path}: its bounds {why}, too wide to search; give a range, {path}=LOW:HIGH.")
    return Dimension(path, "int" if is_int else "float", low, high, spec.log_scale)


def _read_choices(path: str, text: str, parts: list[str]) -> Dimension:
    if "" in parts:
        raise InputError(f"--vary {path}={text}: a value between two | is missing; write none for an empty setting.")
    twice = len({_normalize(part) for part in parts}) < len(parts)
    if twice:
        raise InputError(f"--vary {path}={text}: names a value twice; name each once.")
    return Dimension(path, "choice", choices=tuple(parts))


def _read_range(path: str, text: str, match: re.Match[str], spec: FieldSpec | None) -> Dimension:
    low, high = (float(match[number].replace("_", "")) for number in (1, 2))
    given = f"--vary {path}={text}"
    if spec is not None and spec.editor not in ("int", "float", "duration"):
        raise InputError(f"{given}: this setting takes no range of numbers; list its values with | between them.")
    whole = float(low).is_integer() and float(high).is_integer() and not re.search("[.eE]", f"{match[1]}{match[2]}")
    is_int = spec.editor in ("int", "duration") if spec is not None else whole
    if not low < high:
        raise InputError(f"{given}: the lower end must be below the upper one; write the smaller number first.")
    if is_int and not (low.is_integer() and high.is_integer()):
        raise InputError(f"{given}: this setting takes whole numbers; give whole ends of the range.")
    log = match[3] == "log" or (match[3] is None and spec is not None and spec.log_scale and low > 0)
    if log and low <= 0:
        raise InputError(f"{given}: a logarithmic scale has no 0; begin above it, or leave log out.")
    points = int(match[5]) if match[5] else None
    if points is not None and points < 2:
        raise InputError(f"{given}: a grid takes 2 values of a range or more; give a larger number at its end.")
    step = float(match[4].replace("_", "")) if match[4] else None
    if step is not None and (step <= 0 or not _divides(step, high - low) or (is_int and not step.is_integer())):
        raise InputError(f"{given}: the range must be a whole number of steps; give another step, or another end.")
    if step is not None and points is not None:
        raise InputError(f"{given}: the steps say which values a grid takes; leave their number out.")
    return Dimension(path, "int" if is_int else "float", low, high, log, points, (), step)


def _divides(step: float, length: float) -> bool:
    return abs(length / step - round(length / step)) < _ROUNDING


def split_choices(text: str) -> list[str]:
    """``text`` at each | that stands in no brackets and no quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == "|" and depth <= 0:
            parts.append("")
            continue
        parts[-1] += letter
    return [part.strip() for part in parts]


def show_value(value: Value, sort: Sort = "float") -> str:
    """As short as it can be read, and as exact as a person needs it."""
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if sort == "int" else f"{value:.4g}"


def _normalize(text: str) -> str:
    """The same text for the same value: 1e-3 and 0.001, [64,64] and [64, 64]."""
    try:
        return json.dumps(json.loads(text))
    except ValueError:
        return text.strip().strip("\"'")
