"""Settings that were called otherwise in earlier versions: their files are read as ever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RENAMED = {"schedule.warmup_steps": "schedule.warmup"}
"""Dotted settings, then and now."""
_OF_TABLES = {"targets", "features", "ignored", "categorical", "missing_marks", "separator"}
"""Where all of these stand, a program wrote them, as it does for runs: one that knew of no columns to be left out, where it says
nothing of them."""


def current_name(path: str) -> str:
    """The dotted setting that ``path`` has become."""
    return _RENAMED.get(path, path)


def migrate(data: Mapping[str, Any]) -> dict[str, Any]:
    """``data`` of a configuration with today's names. Where both stand there, the old one stays and is told as unknown."""
    result = dict(data)
    for old, new in _RENAMED.items():
        (section, before), after = old.split("."), new.partition(".")[2]
        values = result.get(section)
        if isinstance(values, Mapping) and before in values and after not in values:
            result[section] = {after if name == before else name: value for name, value in values.items()}
    dataset = result.get("dataset")
    if isinstance(dataset, Mapping) and dataset.get("kind") in ("table", "ranking") and dataset.keys() >= _OF_TABLES:
        result["dataset"] = {"uninformative": "keep", "thousands": "none", **dataset}
    return result
