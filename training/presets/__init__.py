"""Ready configurations that come with the program, by name; ``preset:sample`` on the command line."""

from __future__ import annotations

import difflib
from importlib.resources import files

from training.errors import InputError


def preset_names() -> list[str]:
    """Names of all presets, sorted."""
    return sorted(item.name.removesuffix(".toml") for item in files(__name__).iterdir() if item.name.endswith(".toml"))


def preset_text(name: str) -> str:
    """The TOML text of the preset ``name``; raises InputError for an unknown one."""
    if name not in preset_names():
        near = difflib.get_close_matches(name, preset_names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(preset_names())}."
        raise InputError(f"preset:{name}: there is no such preset; {hint}")
    return (files(__name__) / f"{name}.toml").read_text(encoding="utf-8")
