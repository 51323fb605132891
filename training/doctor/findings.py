"""What a look has to say."""

from __future__ import annotations

from training.events import Found


def ok(title: str, advice: str = "") -> Found:
    """All is well."""
    return Found(level="ok", title=title, advice=advice)
