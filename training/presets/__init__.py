"""Ready configurations that come with the program, by name; ``preset:sample`` on the command line."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from training.config import RunConfig, apply_overrides, parse_config
from training.config.files import tell_moved
from training.errors import InputError
from training.presets.rows import PRESETS, Ask, Preset
from training.runs.cli_consent import trust_settings
from training.system.resources import find_resources
from training.toml_text import Toml, read_table, read_toml

__all__ = ["PRESETS", "Ask", "Preset", "load_preset", "missing", "preset", "preset_names", "preset_text"]


def preset_names() -> list[str]:
    """Names of all presets, in the order in which they are offered."""
    return [row.name for row in PRESETS]


def preset(name: str) -> Preset:
    """The preset ``name``; raises InputError for an unknown one."""
    for row in PRESETS:
        if row.name == name:
            return row
    near = difflib.get_close_matches(name, preset_names(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(preset_names())}."
    raise InputError(f"preset:{name}: there is no such preset; {hint}")


def preset_text(name: str) -> str:
    """The TOML text of the preset ``name``; raises InputError for an unknown one."""
    return (find_resources("training", "presets") / f"{preset(name).name}.toml").read_text(encoding="utf-8")


def load_preset(name: str, overrides: Sequence[str] = (), trust: bool = False) -> RunConfig:
    """The preset ``name`` with ``overrides`` ("section.key=value"); relative paths are those of the working folder.
    ``trust`` agrees to run the Python files of a person's own that it names.

    Raises InputError, saying what to give, where it asks for a path that is not here, ConfigError for wrong settings.
    """
    source = f"preset:{name}"
    data = read_toml(preset_text(name), source)
    tell_moved(apply_overrides(data, overrides))
    given = {override.partition("=")[0].strip() for override in overrides}
    wanted = [ask for ask in missing(preset(name), data) if ask.setting not in given]
    if wanted:
        what = " and ".join(ask.what for ask in wanted)
        sets = " ".join(ask.option for ask in wanted)
        raise InputError(f"{source} needs {what}: add {sets}.")
    if trust:
        apply_overrides(data, trust_settings(data, Path.cwd()))
    return parse_config(data, source, folder=Path.cwd())


def missing(row: Preset, data: Mapping[str, Toml]) -> list[Ask]:
    """What ``row`` asks for that ``data``, its settings, still has as the preset left it and that is not here."""
    found = []
    before = read_toml(preset_text(row.name), row.name)
    for ask in row.asks:
        section, key = ask.setting.split(".")
        value = read_table(data, section).get(key)
        if value is not None and value == read_table(before, section).get(key) and not Path(str(value)).exists():
            found.append(ask)
    return found
