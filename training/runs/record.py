"""The status record as readers may rely on it: a file or a database row of any content becomes one of the known form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

STATES = ("created", "running", "paused", "completed", "stopped", "failed", "interrupted")
MOST_COUNT = 1 << 53
_LATEST = 1e11  # seconds since 1970: what calendars can still show
_LONGEST = 10_000


def is_count(value: Any) -> bool:
    """A whole number that every reader (a chart, a table, a file offset) can hold."""
    return type(value) is int and 0 <= value <= MOST_COUNT


def is_number(value: Any) -> bool:
    """A number, NaN and infinities included: a metric may be one of those."""
    return type(value) is float or (type(value) is int and abs(value) <= MOST_COUNT)


def is_time(value: Any) -> bool:
    """Seconds since 1970."""
    return is_number(value) and 0.0 <= value <= _LATEST


def _is_text(value: Any) -> bool:
    """Text that can be stored and shown: JSON may hold halves of characters, which no file and no database takes."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_metrics(value: Any) -> bool:
    """Names with numbers."""
    return isinstance(value, dict) and all(is_number(number) for number in value.values())


def _is_best(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _is_text(value.get("metric"))
        and is_number(value.get("value"))
        and is_count(value.get("step"))
        and (value.get("checkpoint") is None or _is_text(value.get("checkpoint")))
    )


def _is_parent(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_text(text) for text in value.values())


def _is_fix(value: Any) -> bool:
    plain = (str, bool, int, float, type(None))
    return isinstance(value, dict) and all(isinstance(item, plain) for item in value.values())


_FIELDS: Mapping[str, tuple[Callable[[Any], bool], Any]] = {
    **dict.fromkeys(("name", "dataset", "model"), (_is_text, "")),
    **dict.fromkeys(("reason", "advice", "last_checkpoint"), (_is_text, None)),
    "status": (lambda value: value in STATES, "stopped"),
    **dict.fromkeys(("step", "epoch", "skipped_steps"), (is_count, 0)),
    **dict.fromkeys(("epochs", "total_steps"), (is_count, None)),
    "created": (is_time, 0.0),
    **dict.fromkeys(("ended", "updated"), (is_time, None)),
    "seconds": (is_time, None),
    "samples_per_second": (lambda value: is_number(value) and math.isfinite(value), 0.0),
    "metrics": (is_metrics, {}),
    "best": (_is_best, None),
    "parent": (_is_parent, None),
    "fix": (_is_fix, None),
}


def sound_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """``record`` with every known entry of its type: what is missing stays missing, what is wrong becomes its default."""
    sound = dict(record)
    for name, (fits, default) in _FIELDS.items():
        if name in sound and not (sound[name] is None and default is None) and not fits(sound[name]):
            sound[name] = default
    return sound
