"""The settings of a run by section and kind, as the forms and the draft need them. Everything comes from `describe`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache
from typing import Any

from training.config import RunConfig
from training.config.describe import describe
from training.config.field_spec import FieldSpec, plain
from training.config.run import SECTIONS, alternatives
from training.toml_text import Toml

RUN = ""  # the "section" of the settings that stand above all sections: name, seed, ...

Section = dict[str, Toml]
"""Settings by name as they were typed, valid or not; the section's kind is among them."""
Settings = dict[str, Section]
"""All settings of a run, by section."""


def split_sections(data: Mapping[str, Toml]) -> Settings:
    """The settings of a whole configuration as files and forms have it: those above all sections beside the sections."""
    settings: Settings = {RUN: {}}
    for name, value in data.items():
        if isinstance(value, dict):
            settings[name] = value
        else:
            settings[RUN][name] = value
    return settings


def copy_settings(settings: Settings) -> Settings:
    """A copy that shares nothing that can be changed. Nearly all values cannot, and ``deepcopy`` looks at each of them."""
    return {
        section: {name: deepcopy(value) if isinstance(value, list | dict) else value for name, value in values.items()}
        for section, values in settings.items()
    }


def join_sections(settings: Settings) -> dict[str, Toml]:
    """The opposite of ``split_sections``."""
    return settings[RUN] | {section: values for section, values in settings.items() if section != RUN}


@cache
def specs(section: str, kind: str = "") -> Mapping[str, FieldSpec]:
    """The settings of ``section`` when it is of ``kind`` ("" where there is no choice), by name, in form order."""
    if section == RUN:
        return {spec.name: spec for spec in describe(RunConfig) if spec.name not in SECTIONS}
    return {spec.name: spec for spec in describe(alternatives(section)[kind])}


def table_specs(section: str, kind: str, values: Section) -> dict[str, FieldSpec]:
    """The settings inside the section's tables, which depend on its other ``values``, by name ("arguments.width")."""
    if section == RUN:
        return {}
    chosen = alternatives(section)[kind]
    tables = [spec.name for spec in specs(section, kind).values() if spec.editor == "table"]
    return {spec.name: spec for name in tables for spec in chosen.rows(name, values)}


@cache
def kinds(section: str) -> tuple[str, ...]:
    """What can stand in ``section``; empty where there is nothing to choose."""
    return () if section == RUN else tuple(kind for kind in alternatives(section) if kind)


def default_kind(section: str) -> str:
    """The kind a new run has in ``section``; "" where there is nothing to choose."""
    return str(getattr(RunConfig.model_fields[section].default, "kind", "")) if section != RUN else ""


def default_value(spec: FieldSpec) -> Any:
    """What stands in the form before anything is typed; "" for a required setting, which has no default."""
    return "" if spec.required else plain(spec.default)


def defaults(section: str, kind: str = "") -> Section:
    """All settings of ``section`` untouched, ``kind`` included where there is one."""
    values = {name: default_value(spec) for name, spec in specs(section, kind).items()}
    return {"kind": kind, **values} if kind else values


def same_sort(first: FieldSpec, second: FieldSpec) -> bool:
    """Whether a value typed for one setting makes sense for the other (of the same name in another kind)."""
    alike = ("editor", "choices", "unit", "path")
    return all(getattr(first, name) == getattr(second, name) for name in alike)


def split_path(path: str) -> tuple[str, str]:
    """("optimizer", "lr") for "optimizer.lr" and (RUN, "seed") for "seed"; deeper parts ("model.hidden.1") are cut."""
    parts = path.split(".")
    return (parts[0], "".join(parts[1:2])) if parts[0] in SECTIONS else (RUN, parts[0])


def table_key(path: str) -> str:
    """ "width" for "model.arguments.width", the deeper part that ``split_path`` cuts; "" where there is none."""
    return path.split(".", 2)[2] if path.count(".") > 1 else ""


def spec_of(path: str, kind: str, values: Section) -> FieldSpec:
    """The setting at ``path``, inside a table, too, in a section of ``kind`` with these ``values``. KeyError where none is."""
    section, name = split_path(path)
    spec = specs(section, kind)[name]
    inside = table_key(path) if spec.editor == "table" else ""
    return table_specs(section, kind, values)[f"{name}.{inside}"] if inside else spec


def is_setting(path: str, kind_of: Callable[[str], str]) -> bool:
    """Whether a run has a setting at ``path``, where ``kind_of`` tells what is chosen in a section."""
    section, name = split_path(path)
    if section not in (RUN, *SECTIONS):
        return False
    return name in specs(section, kind_of(section)) or (name == "kind" and bool(kinds(section)))


def join_path(section: str, name: str) -> str:
    """The dotted path of a setting."""
    return f"{section}.{name}" if section else name


def inner_value(value: Toml, path: str, spec: Callable[[str], FieldSpec]) -> Toml:
    """What stands at ``path``, where ``value`` stands at its first two parts; ``spec`` tells of the setting there."""
    key = table_key(path)
    if key and isinstance(value, dict):
        return plain(value[key]) if key in value else default_value(spec(path))
    return plain(value)


def with_inner(value: Toml, path: str, item: Toml, spec: Callable[[str], FieldSpec]) -> Toml:
    """``value`` once ``item`` was written at ``path``: ``item`` itself where that is no place inside a table."""
    key = table_key(path)
    if not key or not isinstance(value, dict):
        return item
    rest = {other: kept for other, kept in value.items() if other != key}
    default = default_value(spec(path))
    same = item == default and isinstance(item, bool) == isinstance(default, bool)
    return rest if same else {**rest, key: item}
