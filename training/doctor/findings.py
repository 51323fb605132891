"""What a look has to say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from training.events import Found


def ok(title: str, advice: str = "") -> Found:
    """All is well."""
    return Found(level="ok", title=title, advice=advice)


def warn(title: str, advice: str = "", fix: Mapping[str, Any] | None = None) -> Found:
    """Something is doubtful; ``fix`` are settings that mend it."""
    return Found(level="warning", title=title, advice=advice, fix=dict(fix or {}))
