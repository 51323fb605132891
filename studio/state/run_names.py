"""What a run is called as long as nobody has named it. No Qt."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from training.presets import preset_names, preset_text
from training.toml_text import read_toml

_LONGEST = 80


def name_after_change(data: Mapping[str, Any], place_before: str = "", otherwise: str = "") -> str:
    """The name for the settings ``data`` once their data, network or task is another one: a preset's ("table classes") or that of
    the data before may say what the run no longer does, so its data names it, and where that has no place it is
    ``otherwise``; one that was typed stays."""
    name, place = str(data["name"]), data["dataset"].get("path")
    if name not in _names_of_presets() and name != _called(place_before):
        return name
    return _called(place) or otherwise or name


def _called(place: object) -> str:
    """What the file or folder of the data is called."""
    if not isinstance(place, str) or not place:
        return ""
    path = Path(place)
    return (path.name if path.is_dir() else path.stem)[:_LONGEST]


@cache
def _names_of_presets() -> frozenset[str]:
    return frozenset(str(read_toml(preset_text(name), name).get("name")) for name in preset_names())
