"""What a form says about values and faults. No Qt."""

from __future__ import annotations

import re
from typing import Any

from studio.widgets import format_number
from training.config.describe import FieldSpec
from training.errors import Problem


def as_sentence(message: str) -> str:
    """A problem's message as a sentence of its own: it stands under the field, so the field's name is not repeated."""
    return message[:1].upper() + message[1:]


def with_title(title: str, message: str) -> str:
    """A problem's message where the field cannot be seen."""
    return f"{title}: {message[:1].lower()}{message[1:]}" if title else as_sentence(message)


def problem_sentence(problem: Problem, spec: FieldSpec, value: Any) -> str:
    """What stands under the field. An empty path needs other words than the general rule has for text."""
    if spec.path and value == "":
        return f"Choose a {'file' if spec.path == 'file' else 'folder'}."
    if spec.editor not in ("int", "float", "numbers"):
        return as_sentence(problem.message)
    message = re.sub(r"(?<![\w.])(-?\d+)\.0(?!\d)", r"\1", problem.message)  # 1.0 as the form writes it: 1
    position = problem.path.split(".")[2:]
    if position and position[0].isdigit():
        return f"Number {int(position[0]) + 1} {message}"
    return as_sentence(message)


def shown(value: Any, spec: FieldSpec) -> str:
    """A value as the form would show it, for tool tips."""
    if value is None or value == "":
        return spec.placeholder or "nothing"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(shown(item, spec) for item in value) or "nothing"
    return format_number(value) if isinstance(value, int | float) else str(value)


def allowed_range(spec: FieldSpec) -> str:
    """The bounds in words, for the explanation; "" when there are none worth naming."""
    if spec.editor not in ("int", "float"):
        return ""
    low, high = spec.minimum, spec.maximum
    if high is not None and high >= 1e5:
        high = None  # a bound that only keeps out nonsense (a million, 2^31) says nothing a person needs
    parts = []
    if low is not None:
        parts.append(f"{'above' if spec.exclusive_minimum else 'at least'} {format_number(low)}")
    if high is not None:
        parts.append(f"{'below' if spec.exclusive_maximum else 'at most'} {format_number(high)}")
    return f"Allowed: {' and '.join(parts)}." if parts else ""
