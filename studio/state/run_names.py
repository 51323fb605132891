"""What a run is called as long as nobody has named it. No Qt."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from training.config.files import read_toml
from training.presets import preset_names, preset_text


def name_after_change(data: Mapping[str, Any]) -> str:
    """The name for the settings ``data`` once their network or task is another one: a preset's ("table classes") may say
    what the run no longer does, so its data name it; one that was typed stays."""
    name = str(data["name"])
    place = data["dataset"].get("path")
    stem = Path(place).stem if isinstance(place, str) else ""
    return stem[:80] if stem and name in _names_of_presets() else name


@cache
def _names_of_presets() -> frozenset[str]:
    return frozenset(str(read_toml(preset_text(name), name).get("name")) for name in preset_names())
