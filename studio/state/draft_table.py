"""Settings inside a table of the draft: the table holds what differs from their defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from studio.state.setting_specs import default_value, plain, table_key
from training.config.describe import FieldSpec


def inner_value(value: Any, path: str, spec: Callable[[str], FieldSpec]) -> Any:
    """What stands at ``path``, where ``value`` stands at its first two parts; ``spec`` tells of the setting there."""
    key = table_key(path)
    if key and isinstance(value, dict):
        return plain(value[key]) if key in value else default_value(spec(path))
    return plain(value)


def with_inner(value: Any, path: str, item: Any, spec: Callable[[str], FieldSpec]) -> Any:
    """``value`` once ``item`` was written at ``path``: ``item`` itself where that is no place inside a table."""
    key = table_key(path)
    if not key or not isinstance(value, dict):
        return item
    rest = {other: kept for other, kept in value.items() if other != key}
    default = default_value(spec(path))
    same = item == default and isinstance(item, bool) == isinstance(default, bool)
    return rest if same else {**rest, key: item}
