"""What a look has to say."""

from __future__ import annotations

from training.events import Finding


def ok(title: str, advice: str = "") -> Finding:
    """All is well."""
    return Finding(level="ok", title=title, advice=advice)
